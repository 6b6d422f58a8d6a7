"""What the prose check reads of a source file, and where."""

from tests.prose.texts import prose_of_python, prose_of_sql

SOURCE = '''"""A module.

More of it.
"""

LIMIT = 1  # a reason
"""Of an attribute."""


class Row:
    """A row.

    Args:
        name: The name, which
            has two lines.
        *more: Others.
    """

    # A comment of
    # two lines.
    text = "no prose"  # noqa: S105
'''


def test_prose_of_python_stays_at_its_lines():
    lines = prose_of_python(SOURCE).splitlines()
    assert [(number, line) for number, line in enumerate(lines, 1) if line] == [
        (1, "A module."), (3, "More of it."), (6, "- a reason"), (7, "Of an attribute."), (11, "A row."),
        (14, "- The name, which"), (15, "        has two lines."), (16, "- Others."), (19, "A comment of"), (20, "two lines."),
    ]  # fmt: skip


def test_prose_of_sql_is_its_comments_without_the_header():
    query = "-- A query.\n-- columns: a, b\n--   more\nSELECT 1 -- one\n"
    assert prose_of_sql(query) == "A query.\n\n\none\n"


def test_a_tree_is_no_sentence():
    assert prose_of_python('"""Errors.\n\nBase\n├── One  of a kind\n"""\n').split() == ["Errors.", "Base"]

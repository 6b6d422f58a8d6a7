"""Bugs of what bounds a change of the tables: its slices, what it keeps alive, and the limits of peers."""

from tests.mutants.mutant import Mutant

__all__ = ["CHANGE_MUTANTS"]

CHANGE_MUTANTS = (
    Mutant(
        "copy-of-a-table-that-changed",
        "route/rows.py",
        "return copy if made_of is table else dict(table)",
        "return copy if made_of is not None else dict(table)",
        "a copy is used only if it was made of the table as it is now",
        ("route/test_rows.py",),
    ),
    Mutant(
        "each-entry-makes-a-table",
        "route/topics.py",
        "for broker_name, spec in dict(known).items()",
        "for broker_name, spec in reversed(list(known))",
        "of several entries of one broker name in a 217 the last one counts",
        ("route/test_topics.py",),
    ),
    Mutant(
        "permission-in-one-turn",
        "route/rows.py",
        "            if some:\n                yield\n\n\nclass TableCopies",
        "\n\nclass TableCopies",
        "205 and 327 of a large table are made in slices",
        ("route/test_topics.py",),
    ),
)

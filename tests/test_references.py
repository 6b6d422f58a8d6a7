"""Every reference in source, tests and documents leads somewhere; and the checker can tell."""

import re
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.support.documents.commits import full_history, lost_commits, named_commits
from tests.support.documents.markdown import anchor_of, links_of, read_document
from tests.support.documents.references import Tree, broken_references, cited_rules, read_tree

ROOT = Path(__file__).resolve().parents[1]

MADE = {
    "latest.md": "the bench writes it",
    "benchmarks/results/latest.md": "the bench writes it",
    "queues.py": "the reader of a tutorial writes it",
    "watch.py": "the reader of a tutorial writes it",
    "own_broker.py": "the reader of a tutorial writes it",
}
"""Files that are named and not in the repository: why."""

LAW = """# The law

## 4. Tables

### 4.4 Registration (103)

1. First.
2. Second, as (trap T9) says.

```
### 9.9 no heading
```

#### 4.4.1 Odd cases

| | trap |
| --- | --- |
| T9 | a trap (4.4 step 2) |
| V1 | a sample |

## 9. Samples
"""

BOOK = "docs/reference/protocol.md"


@cache
def repository() -> Tree:
    """What is in the repository, without the made-up texts of this module."""
    tree = read_tree(ROOT)
    here = Path(__file__).relative_to(ROOT).as_posix()
    return Tree({path: text for path, text in tree.texts.items() if path != here}, tree.paths)


def tree_with(text: str, path: str = "src/some.py") -> Tree:
    texts = {BOOK: LAW, "docs/decisions/0002-one.md": "# One\n\n## Why so\n", path: text}
    return Tree(
        texts, frozenset({*texts, ".", "docs", "docs/reference", "docs/decisions", "src", "src/here.sql"})
    )


def test_every_reference_resolves():
    assert broken_references(repository(), made=MADE) == []


def written_by_readers() -> dict[str, list[str]]:
    """Tutorial -> the files that its reader is told to write."""
    call = re.compile(r"[Cc]all (?:this file |this |it )`([^`]+)`")
    return {path.name: call.findall(path.read_text()) for path in (ROOT / "docs").glob("tutorial*.md")}


def test_no_two_tutorials_call_their_file_the_same():
    """A reader of the second one would lose what the first one made."""
    names = [name for written in written_by_readers().values() for name in written]
    assert len(names) > 3
    assert len(set(names)) == len(names)


def test_git_ignores_what_tutorials_make():
    options = re.compile(r"(?:--kv-config-path|--log-root|--warehouse|-o|\.open\(|cat) \"?([a-z][\w./-]+)")
    made = {
        path
        for tutorial in (ROOT / "docs").glob("tutorial*.md")
        for path in options.findall(tutorial.read_text().replace('.open("', '.open( "'))
    }
    made |= {name for written in written_by_readers().values() for name in written}
    assert {"first/kv.json", "warehouse", "report.html", "store/config/topics.json", "queues.py"} <= made
    folders = {f"{path}/anything" if "." not in path else path for path in made}
    for path in sorted(folders):
        ignored = subprocess.run(["git", "check-ignore", "--quiet", path], cwd=ROOT, check=False)
        assert ignored.returncode == 0, f"{path} is not in .gitignore"


def test_the_tree_is_full_of_references():
    """So that the test above does not pass because it finds nothing."""
    cited = Counter(cited_rules(repository()))
    assert cited["4.4"] > 10
    assert cited["T26"] > 2
    assert cited["0014"] > 3
    assert sum(cited.values()) > 300


def test_every_commit_that_a_document_names_is_in_the_history():
    history = full_history(ROOT)
    if history is None:
        pytest.skip("the tree has no git repository with the whole history: an sdist, or a shallow clone")
    texts = {path: text for path, text in repository().texts.items() if path.endswith(".md")}
    lost = {path: lost_commits(text, history) for path, text in texts.items()}
    assert {path: commits for path, commits in lost.items() if commits} == {}


def test_documents_name_commits():
    """So that the test above does not pass because it finds none."""
    assert named_commits(repository().texts["tests/unit/app/recorded_journals/README.md"])


def test_a_commit_that_is_not_in_the_history_is_found():
    history = ["a1b2c3d" + "0" * 33, "0" * 39 + "f"]
    text = f"At a1b2c3d, `a1b2c3e`. Then (1234abc): {'0' * 39}f, {'0' * 39}e"
    assert lost_commits(text, history) == ["a1b2c3e", "1234abc", f"{'0' * 39}e"]


@pytest.mark.parametrize(
    "text", ["1234567", "defaced", "ns-1a2b3c4-1", "1a2b3c4d", "1a2b3c4.sql", "x1a2b3c4"]
)
def test_other_words_and_numbers_are_no_commits(text: str):
    assert named_commits(text) == []


def test_a_tree_without_its_full_history_is_recognised(tmp_path: Path):
    def git(folder: Path, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=True)

    assert full_history(tmp_path) is None
    full, shallow = tmp_path / "full", tmp_path / "shallow"
    full.mkdir()
    git(full, "init", "--quiet")
    for subject in ("one", "two"):
        named = ("-c", "user.name=n", "-c", "user.email=n@localhost")
        git(full, *named, "commit", "--quiet", "--allow-empty", "--message", subject)
    git(tmp_path, "clone", "--quiet", "--depth", "1", full.as_uri(), str(shallow))
    assert len(full_history(full) or ()) == 2
    assert full_history(shallow) is None


@pytest.mark.parametrize(
    "text",
    [
        "protocol.md 4, 4.4 and 4.4.1",
        "protocol.md 4.4 steps 1 and 2",
        "`protocol.md` 4.4\n    # step 2",
        "protocol.md 9, V1",
        "of protocol.md 4.4. Then in step 1",
        "Nobody cites a rule, so step 77 is any step",
        "protocol.md 9 has no steps, so step 77 is any step",
        "(trap T9)",
        "docs/decisions/0002 and `docs/decisions/0002-one.md`",
        "`here.sql`, `src/here.sql`, `there.csv`, `*.sql`, `<name>.py`",
    ],
)
def test_what_leads_somewhere(text: str):
    assert broken_references(tree_with(text)) == []


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("protocol.md 4.5", ["protocol.md 4.5"]),
        ("protocol.md 9.9", ["protocol.md 9.9"]),
        ("protocol.md\n# 4.6", ["protocol.md 4.6"]),
        ("protocol.md 4.4, 4.5 to 4.7", ["protocol.md 4.5", "protocol.md 4.7"]),
        ("protocol.md 4.4 step 3", ["protocol.md 4.4 step 3"]),
        ("protocol.md 4.4: what\n# step 2 and steps 1 and 5", ["protocol.md 4.4 step 5"]),
        ("protocol.md 9, V2", ["protocol.md 9, V2"]),
        ("trap T8", ["trap T8"]),
        ("traps T9,\n    # T10 and T11", ["trap T10", "trap T11"]),
        ("docs/decisions/0003", ["docs/decisions/0003"]),
        ("docs/decisions/0002, 0004", ["docs/decisions/0004"]),
        ("design.md 5", ["design.md"]),
        ("`gone.sql`", ["`gone.sql`"]),
        ("`route/gone.py`", ["`route/gone.py`"]),
        ("python -m tests.gone", ["python -m tests.gone"]),
    ],
)
def test_what_leads_nowhere(text: str, broken: list[str]):
    assert broken_references(tree_with(text)) == [f"src/some.py: {what}" for what in broken]


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("[a](decisions/0002-one.md#why-so), [b](#here)\n\n# Here", []),
        ("[a](decisions/0002-one.md#why-not)", ["link to decisions/0002-one.md#why-not: no such heading"]),
        ("[a](#there)", ["link to #there: no such heading"]),
        ("![a](image.svg)", ["link to image.svg"]),
        ("[a](../../outside)", ["link to ../../outside"]),
        ("[a](../src/here.sql) [b](https://example.org/gone)", []),
    ],
)
def test_links(text: str, broken: list[str]):
    assert broken_references(tree_with(text, "docs/page.md")) == [f"docs/page.md: {what}" for what in broken]


def test_a_trap_names_the_section_with_its_rule():
    texts = {BOOK: LAW.replace("(4.4 step 2)", "(4.5, 4.4)")}
    found = broken_references(Tree(texts, frozenset(texts)))
    assert found == [f"{BOOK}: section 4.5 of a trap"]


def test_headings():
    document = read_document("# A `b` (c), d\n## 1.2 Title\n## 1.2 Title\n")
    assert [section.anchor for section in document.sections] == ["a-b-c-d", "12-title", "12-title-1"]
    assert [section.number for section in document.sections] == [None, "1.2", "1.2"]
    assert anchor_of("2.15 NOTIFY_MIN [x](y.md) (905)") == "215-notify_min-x-905"


def test_links_in_code_are_none():
    assert links_of("[a](b) `[c](d)`\n```\n[e](f)\n```\n[![g](h)](i)") == ["b", "i"]

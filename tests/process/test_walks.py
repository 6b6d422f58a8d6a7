"""Walks of the people who use this through the documents, as they are written.

- A newcomer: `test_tutorial.py`, and the demo of CI.
- On call: `test_tutorial_history.py`, and why-was-there-no-route.md here.
- An operator: keep-a-journal.md and replace-a-java-name-server.md here, both name servers being ours;
  `tests/interop` has Java's. close-it.md: `test_close_it.py`.
- A data engineer, and a reader of the report: `tests/spark/test_walks.py`.
- A user of the libraries: `test_tutorial_client.py`, `tests/unit/broker/test_tutorial.py`.
"""

from pathlib import Path

import pytest

from tests.process.running import NameServerProcess, environment
from tests.support.documents.commands import Typist, commands_of
from tests.support.documents.shapes import block_after, shows
from tests.unit.answers.story import Story
from tests.unit.drift.fleet import align_ends
from tests.unit.drift.test_shadow import with_shadow

DAY_MS = 24 * 60 * 60 * 1_000
HOWTO = Path(__file__).parents[2] / "docs" / "howto"


def text_of(page: str) -> str:
    return (HOWTO / page).read_text()


def test_on_call_the_questions_are_answered(tmp_path):
    """Every command of why-was-there-no-route.md, two name servers on this host, `orders` deleted at 03:12."""
    instead = {
        "/data/ns1/journal/9876": "namesrv/journal/9876",
        "/data/ns2/journal/9876": "namesrv/journal/9877",
    }
    deleted = 0
    for port in ("9876", "9877"):
        story = Story(f"ns_{port}")
        story.registers(topics=("orders",))
        deleted = story.deleted("orders")
        story.alive()
        story.folder(tmp_path / "namesrv/journal" / port)
    at, before, after = (f"2023-11-14T22:13:{second:02}Z" for second in (22, 21, 59))
    assert deleted == 1_700_000_002_000
    times = {
        "03:12": at,
        "03:11": before,
        "2026-03-01 03:00": "2023-11-14T00:00:00Z",
        "2026-03-01 03:30": after,
    }
    reader = Typist(environment(tmp_path), tmp_path, {**instead, **times})
    commands = commands_of(text_of("why-was-there-no-route.md"))
    assert len(commands) >= 5
    for command in commands:
        done = reader.types(command)
        assert done.returncode == 0, (command, done.stderr)
        assert any(word in done.stdout for word in ("orders", "deleted", "b0")), (command, done.stdout)


def observed_for_days(folder: Path) -> None:
    """Journals of two name servers and of their shadow, which are equal for four days."""
    stories = with_shadow()
    align_ends(stories, 4 * DAY_MS)
    for story in stories:
        story.folder(folder / story.journal.namesrv)


def test_an_operator_keeps_a_journal_and_compares(tmp_path):
    """Every command of two pages but those that start a server or an observer, and that follow a journal for ever."""
    commands = commands_of(text_of("keep-a-journal.md")) + commands_of(
        text_of("replace-a-java-name-server.md")
    )
    properties = tmp_path / "namesrv.properties"
    properties.write_text("listenPort=9876\n")
    observed_for_days(tmp_path / "observed")
    with NameServerProcess(tmp_path / "first") as first, NameServerProcess(tmp_path / "second") as second:
        one, other = (server.started().address for server in (first, second))
        journal = first.folder / "journal" / one.rpartition(":")[2]
        first.records_to(journal)
        instead = {
            "~/namesrv/journal/9876": str(journal),
            "/path/to/namesrv.properties": str(properties), "host:9876": one, "host:9877": other, "other-host:9876": other,
        }  # fmt: skip
        operator = Typist(environment(tmp_path), tmp_path, instead)
        typed = [each for each in commands if not each.startswith(("namekeeper serve", "namekeeper observe"))]
        assert len(typed) >= 8
        for command in typed:
            program, *words = operator.words_of(command)
            done = operator.runs(program, [word for word in words if word != "-f"], within=30)
            assert done.returncode == 0, (command, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("shown", "printed", "is_shown"),
    [
        (["a 1 b", "c"], "a 22 b\nc\n", True),
        (["a 1 b"], "a 1 c\n", False),
        (["a", "..."], "a\nb\nc\n", True),
        (["...", "c"], "a\nb\nc\n", True),
        (["a", "c"], "a\nb\nc\n", False),
        (["a"], "a\nb\n", False),
        (["by 127.0.0.1:9; ..."], "by 10.0.0.1:80; and more\n", True),
        (["at 2026-01-31 03:12:00.000 UTC, 1.5 s"], "at 2023-11-14 22:13:22.000 UTC, 2 min 4 s\n", True),
    ],
)
def test_what_a_document_shows_is_compared_by_its_words(shown, printed, is_shown):
    assert shows(shown, printed) == is_shown


def test_a_block_ends_where_other_text_or_a_command_begins():
    text = (
        "x\n    namekeeper a\n\n    one\n      two\n\nText.\n    namekeeper b\n    three\n    namekeeper c\n"
    )
    assert [line.strip() for line in block_after(text, "namekeeper a") if line] == ["one", "two"]
    assert [line.strip() for line in block_after(text, "namekeeper b")] == ["three"]

"""Records that no server writes: every command about the past, and the page, names or ignores them.

A record may have a correct checksum and be hostile all the same: its numbers become times, sizes and places.
"""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from namekeeper.answers.source import JournalAnswers
from namekeeper.answers.times import shown
from namekeeper.cli.commands import past
from namekeeper.cli.group import namekeeper
from namekeeper.clock import SystemClock
from namekeeper.console.histories import Histories
from namekeeper.console.views import ConsoleViews
from namekeeper.errors import NamekeeperError
from namekeeper.history.sources.journal import JournalSource
from namekeeper.journal.contract.blocks import BlockPacker
from namekeeper.journal.contract.checksum import with_checksum
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.disk.heard_file import HEARD_FILE
from namekeeper.journal.reading.last_state import read_last_state
from namekeeper.journal.reading.reader import FoundJournal
from namekeeper.journal.reading.recent import recent_part
from namekeeper.processor.recent_changes import Revision
from tests.support.journal.segments import records_of_a_boot
from tests.unit.answers.story import Story

Record = dict[str, Any]

END_OF_TIME = 253_402_300_800_000
YEAR_300_000 = 9_466_848_000_000_000
NUMBERS = [
    -(2**63), -62_135_596_800_001, -1, 0, 1, 2**31, 253_402_214_400_001, END_OF_TIME, YEAR_300_000, 2**53, 2**63 - 1,
    2**64 - 1, 10**30, 1.5, 1e300, True, None, "1", [], {}, [[1]],
]  # fmt: skip
TEXTS = ["", "\0", "a" * 3_000, "\ud800", "\x1b[2J", "\n", "1:2:3", -1, 2**63, None, [], {}]

COMMANDS = [
    "why T", "why T --json", "why T --at 2001-01-01T00:00:00Z", "history --from 1971-01-01",
    "history T --from 1971-01-01", "history b0 --from 1971-01-01 --json", "route-at T", "route-at T --json",
    "audit --from 1971-01-01", "audit --from 1971-01-01 --json", "undo --from 1971-01-01",
    "undo T --from 1971-01-01 --json", "past --force",
]  # fmt: skip
OF_JOURNALS = ["ls", "ls --json", "cat", "tail", "verify", "verify --json", "replay", "replay --json"]
VIEWS = [
    "overview", "troubles", "brokers", "topics", "changes", "beside", "topic", "broker", "compare", "search",
    "why", "audit",
]  # fmt: skip
VIEWS_OF_JOURNALS = {"why", "audit"}


READERS: list[Callable[[str], object]] = [
    read_last_state,
    lambda folder: recent_part(folder, Revision(1, 1), lambda: None),
]
"""What a server that starts reads."""


def _records() -> list[Record]:
    """A story with restarts and a crash, and each kind of record."""
    story = Story("ns-1")
    story.registers()
    story.heard()
    story.registers("b1", "a1:1")
    story.wiped()
    story.ordered()
    story.asked_in_vain()
    story.refused()
    story.expires()
    story.registers()
    story.deleted()
    story.restarts()
    story.registers()
    story.restarts_with_its_routes()
    story.connection_breaks()
    story.crashes()
    found: list[Record] = [json.loads(line) for line in story.journal.lines()]
    for record in found:
        record.pop("crc", None)
    return found + records_of_a_boot("ns-1", found[-1]["boot"] + 100_000_000, seed=3, changes=40)


RECORDS = json.dumps(_records())


def paths_in(value: object, at: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], object]]:
    """Every part of a record, with the way to it."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from paths_in(part, (*at, key))
    if at:
        yield at, value


def put_value(record: Any, at: tuple[Any, ...], value: object) -> None:
    for key in at[:-1]:
        record = record[key]
    record[at[-1]] = value


def is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def altered(chance: Random) -> list[Record]:
    """The records with some hostile values; most of them replace a number, each field as often as another."""
    records: list[Record] = json.loads(RECORDS)
    for _ in range(chance.choice([1, 1, 2, 5])):
        fields: dict[tuple[str, Any], list[tuple[Record, tuple[Any, ...]]]] = {}
        for record in records:
            for at, value in paths_in(record):
                if is_number(value):
                    fields.setdefault((str(record["kind"]), at[0]), []).append((record, at))
        if chance.random() < 0.8:
            record, at = chance.choice(fields[chance.choice(sorted(fields))])
            put_value(record, at, chance.choice(NUMBERS))
        else:
            record = chance.choice(records)
            at, value = chance.choice(list(paths_in(record)))
            put_value(record, at, chance.choice(NUMBERS if is_number(value) else TEXTS))
    return records


def write(folder: Path, records: list[Record], *, is_sealed: bool) -> None:
    """Write them where the original ones belong, with correct checksums."""
    folder.mkdir()
    places = [(record["boot"], record["seq"]) for record in json.loads(RECORDS)]
    for boot in dict.fromkeys(boot for boot, _ in places):
        seqs = [seq for its_boot, seq in places if its_boot == boot]
        name = SegmentName(namesrv="ns-1", uuid8="0a1b2c3d", boot=boot, first_seq=seqs[0])
        data = b"".join(
            with_checksum(json.dumps(record, separators=(",", ":")).encode()).rstrip(b"\n") + b"\n"
            for record, place in zip(records, places, strict=True)
            if place[0] == boot
        )
        if is_sealed or boot != places[-1][0]:
            name = msgspec.structs.replace(name, last_seq=seqs[-1], form=".gz")
            packer = BlockPacker(name, block_bytes=2_000)
            data = packer.add(data) + packer.finish()
        (folder / str(name)).write_bytes(data)


def run(words: str, folder: Path) -> Result:
    arguments = ["journal", *words.split(), str(folder)]
    if words not in OF_JOURNALS:
        arguments = [*words.split(), "--journal", str(folder)]
    return CliRunner().invoke(namekeeper, arguments, env={"TZ": "UTC"})


def open_page(folder: Path) -> tuple[ConsoleViews, list[str]]:
    """The page's values, and instants to ask for."""
    found = FoundJournal(str(folder))
    histories = Histories([JournalSource([found], SystemClock())])
    for each in histories.all:
        each.begin(histories.lock)
        each.read(histories.lock)
    last = [each.history.coverage.knows_up_to for each in histories.followed]
    views = ConsoleViews(histories, lambda: JournalAnswers([found]), SystemClock())
    return views, ["", "1", *(str(at) for at in last if at is not None)]


def look(views: ConsoleViews, view: str, at: str) -> None:
    """Ask for a view of an instant, as the page does."""
    query = {
        "at": at, "to": at, "a_at": at, "b_at": at, "a": "ns-1", "b": "ns-1", "q": "b",
        "name": "b0" if view == "broker" else "T",
    }  # fmt: skip
    try:
        query = dict(views.resolved(view, {name: text for name, text in query.items() if text}))
        views.earlier(view, query)
        of_journals = views.journals if view in VIEWS_OF_JOURNALS else views
        msgspec.json.encode(getattr(of_journals, view)(query))
    except NamekeeperError:
        pass


@pytest.fixture(scope="module", autouse=True)
def no_server_of_the_past() -> Iterator[None]:
    """`past` reads the state, says what it has, and ends."""

    async def run_past(_server: object, listening: Callable[[str], None]) -> None:
        listening("127.0.0.1:1")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(past, "run_past", run_past)
        yield


@given(st.randoms(use_true_random=False))
@settings(max_examples=12)
def test_no_record_of_a_stranger_ends_a_command_with_a_traceback(tmp_path_factory, chance):
    folder = tmp_path_factory.mktemp("hostile") / "j"
    write(folder, altered(chance), is_sealed=chance.random() < 0.5)
    if chance.random() < 0.5:
        heard = {"boot": json.loads(RECORDS)[-1]["boot"], "ts": chance.choice(NUMBERS), "is_observed": True,
                 "brokers": [["c", "a0:1", chance.choice(NUMBERS)]]}  # fmt: skip
        (folder / HEARD_FILE).write_text(json.dumps(heard))
    for words in (*COMMANDS, *OF_JOURNALS):
        done = run(words, folder)
        assert isinstance(done.exception, SystemExit | None), (words, done.exception)
    views, instants = open_page(folder)
    for view in VIEWS:
        for at in instants:
            look(views, view, at)
    for read in READERS:
        with contextlib.suppress(NamekeeperError):
            read(str(folder))


INSTANTS = [-1, YEAR_300_000, 2**63, 1e15]


@pytest.mark.parametrize("ts", INSTANTS)
def test_a_record_with_an_impossible_time_is_named_and_the_rest_is_answered(tmp_path, ts):
    """It was a traceback, because the time was shown."""
    records: list[Record] = json.loads(RECORDS)
    begin = records[0]["ts"]
    records[-1]["ts"] = ts
    write(tmp_path / "j", records, is_sealed=False)
    why = run(f"why T --at {begin + 60_000}", tmp_path / "j")
    assert why.stdout.startswith("ns-1 at "), why.output
    notes = [line for line in why.stderr.splitlines() if "unknown kind" not in line]
    assert notes[0].endswith(": 1 line is no record of this version and not read")
    assert "$.ts" in notes[1]
    verified = run("verify", tmp_path / "j")
    assert (verified.exit_code, "$.ts" in verified.output) == (1, True), verified.output


@pytest.mark.parametrize("ms", [-1, YEAR_300_000, 2**63, -(2**63)])
def test_a_time_that_no_calendar_has_is_shown_as_a_number(ms):
    """Another program may send it: a name server whose page is asked, a warehouse, a client."""
    assert shown(ms, None) == f"{ms} ms since 1970"

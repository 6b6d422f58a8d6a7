"""Lists of what the memory of the page has dropped: from memory, a journal and a warehouse they are the same."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from namekeeper.console.earlier import EarlierParts
from namekeeper.console.histories import Histories
from namekeeper.console.views import ConsoleViews
from namekeeper.console.warehouse_history import warehouse_history
from namekeeper.history.rows import LiveKey
from namekeeper.history.sources.journal import JournalSource
from namekeeper.history.sources.source import HistorySource, Steps
from namekeeper.journal.reading.reader import FoundJournal
from tests.support.journal.folder import write_journal
from tests.support.pipeline.file_warehouse import SEED, file_warehouse
from tests.unit.console.test_histories import Clock

CLOCK = Clock(1)
MUCH = 1 << 32
SERVERS = 6
FEW_ROWS = 3
"""A text names so many rows of a kind."""
FILTERS: Sequence[Mapping[str, str]] = ({}, {"limit": "1"}, {"limit": "3"}, {"limit": "7"})


class Some:
    """A source with some of its name servers."""

    def __init__(self, source: HistorySource, namesrvs: Sequence[str]) -> None:
        self._source, self._namesrvs = source, namesrvs

    @property
    def keeps_past(self) -> bool:
        return self._source.keeps_past

    def namesrvs(self) -> Sequence[str]:
        return self._namesrvs

    def steps(
        self, namesrv: str, about: str | None = None, since: int | None = None, until: int | None = None, /
    ) -> Steps:
        return self._source.steps(namesrv, about, since, until)


class Console:
    """The views over a source, each history of which has so many bytes, and parts of the past so many."""

    def __init__(self, source: HistorySource, memory: int = MUCH, past: int = MUCH) -> None:
        self.histories = Histories([source])
        for each in self.histories.all:
            each._history.limit_bytes, each._parts.limit_bytes = memory, past
            self.histories.read(each)
        CLOCK.mono_ms += 2_000
        for each in self.histories.all:  # nobody completes the last checkpoint
            self.histories.read(each)
        self.views = ConsoleViews(self.histories, None, CLOCK)

    def ask(self, view: str, **query: Any) -> dict[str, Any]:
        wanted = {name: str(value) for name, value in query.items() if value is not None}
        with self.histories.earlier(self.views.earlier(view, wanted)):
            found = getattr(self.views, view)(wanted)
        return msgspec.json.decode(msgspec.json.encode(found))  # type: ignore[no-any-return]

    @property
    def parts(self) -> list[EarlierParts]:
        return [each._parts for each in self.histories.all]


@pytest.fixture(scope="module")
def namesrvs() -> list[str]:
    """Some name servers of the worlds with which the law is checked."""
    found = sorted(namesrv for _, namesrv, _ in file_warehouse().law.servers())
    return random.Random(SEED).sample(found, SERVERS)


@pytest.fixture(scope="module")
def journals(namesrvs: list[str], tmp_path_factory: pytest.TempPathFactory) -> HistorySource:
    """Their journals, in short segments."""
    folder = tmp_path_factory.mktemp("journals")
    for world, namesrv, _ in file_warehouse().law.servers():
        if namesrv in namesrvs:
            lines = [msgspec.json.encode(record) + b"\n" for record in world.records[namesrv]]
            write_journal(folder / namesrv, lines, per_segment=20)
    return JournalSource((FoundJournal(str(folder / namesrv)) for namesrv in namesrvs), CLOCK)


@pytest.fixture(scope="module")
def whole(journals: HistorySource) -> Console:
    """What has everything in memory."""
    return Console(journals)


@pytest.fixture
def past(request: pytest.FixtureRequest, journals: HistorySource, namesrvs: list[str]) -> HistorySource:
    if request.param == "journal":
        return journals
    return Some(warehouse_history(file_warehouse().tables), namesrvs)


def pages(console: Console, query: Mapping[str, Any]) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """The lists that somebody sees who goes on to the older ones, each with its end."""
    to = query["to"]
    while True:
        found = console.ask("changes", **{**query, "to": to})
        yield to, found
        if found["older_to"] is None:
            return
        assert found["older_to"] == found["known_from"] - 1
        assert to is None or found["older_to"] < to
        to = found["older_to"]


def unordered(changes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Changes without the order of their rows, which is another one in a warehouse; the first rows are sent."""
    return [
        {**each, "text": sorted(each["text"]), "rows": sorted(each["rows"], key=repr)}
        if each["row_count"] <= FEW_ROWS
        else {**each, "text": "", "rows": len(each["rows"])}
        for each in changes
    ]


def queries(whole: Console, rng: random.Random, count: int) -> Iterator[dict[str, Any]]:
    for _ in range(count):
        each = rng.choice([one for one in whole.histories.followed if one.history.events])
        history = each.history
        times = [event.at for event in history.events]
        begin, end = sorted(rng.choices(range(times[0] - 5, times[-1] + 5), k=2))
        names = {
            "topic": [*history.topics()],
            "peer": [event.peer for event in history.events if event.peer],
            "cause": [event.cause for event in history.events if event.cause],
        }
        filters = dict(rng.choice(FILTERS))
        kind = rng.choice(["", *(name for name, some in names.items() if some)])
        if kind:
            filters[kind] = rng.choice(names[kind])
        yield {
            **filters,
            "namesrv": history.namesrv if rng.random() < 0.8 else "",
            "from": rng.choice([None, begin]),
            "to": rng.choice([None, end, end]),
        }


@pytest.mark.parametrize(
    ("past", "room", "ranges"),
    [
        ("journal", MUCH, 20),
        ("journal", 60_000, 40),
        ("warehouse", 60_000, 5),
        pytest.param("journal", MUCH, 120, marks=pytest.mark.long),
        pytest.param("journal", 60_000, 120, marks=pytest.mark.long),
        pytest.param("warehouse", 60_000, 8, marks=pytest.mark.long),
        pytest.param("warehouse", MUCH, 8, marks=pytest.mark.long),
    ],
    indirect=["past"],
)
def test_each_list_of_changes_is_that_of_a_memory_without_a_limit(
    whole: Console, past: HistorySource, room: int, ranges: int
):
    """A list of a warehouse takes ten times as long as one of journals."""
    rng, read, reached = random.Random(SEED), 0, 0
    console = Console(past, memory=1, past=room)
    assert sum(each.history.dropped_until is not None for each in console.histories.followed) > SERVERS // 2
    for query in queries(whole, rng, ranges):
        for to, found in pages(console, query):
            begins = [each for each in (found["known_from"], query["from"]) if each is not None]
            wanted = whole.ask("changes", **{**query, "from": max(begins, default=None), "to": to})
            if not found["not_read"]:
                assert unordered(found["rows"]) == unordered(wanted["rows"]), (query, to)
                assert found["has_more"] == wanted["has_more"], (query, to)
                read += to is not None
        reached += found["known_from"] is None or found["known_from"] <= (query["from"] or 0)
    assert read > 8
    assert reached > 4


def names_of(console: Console, rng: random.Random) -> list[tuple[str, str]]:
    rows = [each.history for each in console.histories.followed]
    topics = sorted({topic for history in rows for topic in history.topics()})
    brokers = sorted(
        {
            name
            for history in rows
            for key in history.keys(LiveKey)
            for name in (key.broker_addr, *(version.row.broker_name for version in history.versions(key)))
        }
    )
    return [("topic", name) for name in rng.sample(topics, min(6, len(topics)))] + [
        ("broker", name) for name in rng.sample(brokers, min(8, len(brokers)))
    ]


@pytest.mark.parametrize("past", ["journal", "warehouse"], indirect=True)
def test_the_search_and_the_changes_beside_an_instant_are_those_of_a_memory_without_a_limit(
    whole: Console, past: HistorySource
):
    console = Console(past, memory=1)
    times = sorted({event.at for each in whole.histories.followed for event in each.history.events})
    assert sum(at < console.histories.followed[0].history.dropped_until for at in times) > 10
    for at in {
        each + more for each in (times[0], *random.Random(SEED).sample(times, 40)) for more in (-1, 0, 1)
    }:
        assert console.ask("beside", at=at) == whole.ask("beside", at=at)
    dropped = 0
    for text in ("", "a", "1", "T"):
        found, wanted = (each.ask("search", q=text) for each in (console, whole))
        assert found["known_from"] is None
        dropped += sum(len(each.pop("dropped")) for each in found["kinds"])
        for each in wanted["kinds"]:
            assert each.pop("dropped") == []
        assert found == wanted
    assert dropped > 3
    console.ask("beside", at=times[0])
    assert all(not each.kept for each in console.parts), "nothing is read again for them"


@pytest.mark.parametrize(
    ("past", "step"),
    [("journal", 1), ("warehouse", 5), pytest.param("warehouse", 1, marks=pytest.mark.long)],
    indirect=["past"],
)
def test_the_life_of_a_topic_or_a_broker_is_that_of_a_memory_without_a_limit(
    whole: Console, past: HistorySource, step: int
):
    console = Console(past, memory=1)
    longer = 0
    for view, name in names_of(whole, random.Random(SEED))[::step]:
        wanted = whole.ask(view, name=name)
        short, found = console.ask(view, name=name), console.ask(view, name=name, older=1)
        assert (short["has_older"], found["has_older"], found["not_read"]) == (True, False, [])
        for part in ("is_there", "sessions", "session_count", "absences", "lanes"):
            assert found.get(part) == wanted.get(part), (view, name, part)
        assert found["known_from"] is None
        longer += short["lanes"] != found["lanes"]
    assert longer > 5 // step

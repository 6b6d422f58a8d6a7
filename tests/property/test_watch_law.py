"""The law of watching: a watcher learns of each change of an answer once and in order, over cuts and restarts."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given

from namekeeper.app.watching import Numbering, RouteWatch
from namekeeper.journal.reading.recent import LOST, STARTED
from namekeeper.model.now import Now
from namekeeper.processor.recent_changes import Revision
from namekeeper.remoting.scheduler import Scheduler
from namekeeper.route.events import Change
from tests.property.histories import TOPICS, random_history
from tests.property.journalled import JournalledServer
from tests.property.live_law import small_pieces
from tests.property.test_journal_law import LAW, chances
from tests.support.journal.folder import write_journal


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """As for the law of the journal."""
    with small_pieces():
        yield


class Watched(JournalledServer):
    """A name server over its boots, with one watcher that is cut off now and then."""

    def __init__(self, namesrv: str, folder: Path, chance: Random, runner: asyncio.Runner) -> None:
        self.folder, self.chance, self.runner = folder, chance, runner
        self.happened: list[tuple[Revision, str]] = []
        """What really became another answer, by comparing answers."""
        self.reader: Reader | None = None
        super().__init__(namesrv)

    def start(self) -> None:
        super().start()
        self.routes = self.answers()
        self.watch = RouteWatch(
            self.server.state, self.numbering, clock=self, scheduler=Scheduler(), watchers_limit=9
        )
        if self.reader is not None:
            self.reader.cut()

    def now(self) -> Now:
        return Now(self.ts, self.up_ms)

    def numbering(self) -> Numbering:
        return Numbering(len(self.boots), self.seq, self.boot, self.seq, str(self.folder))

    def answers(self) -> dict[str, object]:
        return {topic: self.server.state.route_answers.route(topic) for topic in TOPICS}

    def changed(self, change: Change) -> None:
        super().changed(change)
        before, self.routes = self.routes, self.answers()
        revision = Revision(self.boot, self.seq)
        self.happened += [(revision, topic) for topic in TOPICS if before[topic] != self.routes[topic]]
        self.runner.run(self._tell(change))
        if self.reader is None:
            self.reader = Reader(self)
        self.chance.choice((self.reader.read, self.reader.cut, lambda: None))()

    async def _tell(self, change: Change) -> None:
        self.watch.changed(change)
        await asyncio.sleep(0)  # a turn of the loop wakes the watchers


class Reader:
    """The watcher: what it has seen, and up to where it was told to read anew."""

    def __init__(self, server: Watched) -> None:
        self.server = server
        self.after: str | None = None
        self.seen: list[tuple[Revision, str]] = []
        self.anew = Revision(0, 0)
        self.gone = self.connects = 0
        self.watcher = None
        self.read()
        self.begin = Revision.parse(self.after)

    def connect(self) -> None:
        self.server.folder = self.server.folder.parent / str(
            len(self.server.written) + self.connects * 10_000
        )
        self.connects += 1
        write_journal(self.server.folder, self.server.lines())
        watching = self.server.watch.watch(frozenset(TOPICS), self.after)
        self.watcher = self.server.runner.run(watching)
        if self.after is None:
            self.after = self.server.watch.revision()

    def cut(self) -> None:
        if self.watcher is not None:
            self.watcher.close()
            self.watcher = None

    def read(self) -> None:
        if self.watcher is None:
            self.connect()
        changes = self.watcher.take()
        if changes is None:
            self.gone += 1
            self.after = self.server.watch.revision()
            self.anew = Revision.parse(self.after)
        for change in changes or ():
            revision = Revision.parse(change.revision)
            assert revision > Revision.parse(self.after), "once and in order"
            self.after = change.revision
            self.seen += [(revision, topic) for topic in change.topics]
            if change.cause in {STARTED, LOST}:
                self.anew = revision


def check_law(chance: Random, folder: Path, happenings: int) -> tuple[Watched, int]:
    """Returns the server, and how many changes the watcher had to see."""
    with asyncio.Runner() as runner:
        server = random_history(
            chance, happenings, make=lambda name: Watched(name, folder / "0", chance, runner)
        )
        assert isinstance(server, Watched)
        reader = server.reader
        if reader is None:
            return server, 0
        reader.read()
        wanted = {each for each in server.happened if max(reader.begin, reader.anew) < each[0]}
        assert wanted <= set(reader.seen)
        assert len(reader.seen) == len(set(reader.seen))
        return server, len(set(server.happened) & set(reader.seen))


@given(chances)
@LAW
def test_each_change_is_seen_once_and_in_order(tmp_path_factory, chance):
    check_law(chance, tmp_path_factory.mktemp("journal"), 60)


def test_the_law_is_not_empty(tmp_path_factory):
    """Watchers see hundreds of changes, most of the time without being told to read anew."""
    seen = gone = restarts = 0
    for seed in range(8):
        server, compared = check_law(Random(seed), tmp_path_factory.mktemp("journal"), 150)
        seen, gone, restarts = seen + compared, gone + server.reader.gone, restarts + len(server.boots) - 1
    assert seen > 200
    assert restarts > 10
    assert gone < restarts

"""A running name server that is asked: when, for what, and what is told of it."""

import pytest

from namekeeper.answers.route import route_at
from namekeeper.console.histories import FollowedHistory, HistoryLock
from namekeeper.history.rows import LiveKey
from namekeeper.history.sources.running import RunningSource
from tests.unit.admin.fake_namesrv import DEAD, A, FakeNamesrv, FakeSender, broker, queues, typical
from tests.unit.console.test_histories import Clock

START = 1_700_000_000_000


class Watched:
    def __init__(self, addr: str = A, server: FakeNamesrv | None = None) -> None:
        self.server = server or typical()
        self.sender = FakeSender({A: self.server})
        self.clock = Clock(START)
        self.source = RunningSource([addr], self.sender.opened, 7, self.clock)
        self.history = FollowedHistory(addr, self.source)
        self.rows = self.history.followed.history

    def read(self, after_ms: int = 500) -> bool:
        self.clock.wall_ms += after_ms
        self.clock.mono_ms += after_ms
        return self.history.read(HistoryLock())

    def asked(self) -> list[int]:
        codes = [code for _, code, _ in self.sender.asked]
        self.sender.asked.clear()
        return codes


@pytest.fixture
def watched():
    made = Watched()
    yield made
    made.source.close()


def test_it_is_known_from_its_first_answer_to_its_last(watched: Watched):
    assert watched.read()
    assert (watched.rows.knows_from, watched.rows.knows_up_to) == (START + 500, START + 500)
    assert not watched.read()
    assert watched.rows.knows_up_to == START + 1_000
    assert watched.history.followed.is_running
    assert set(watched.rows.topics()) == {t for t, found in watched.server.topics.items() if found}
    assert watched.sender.timeouts_ms == {7}


def test_it_is_asked_for_its_label_at_first(watched: Watched):
    watched.server.config["clusterLabel"] = "east"
    watched.read()
    assert watched.rows.cluster_label == "east"
    assert 319 in watched.asked()
    watched.server.brokers["new"] = broker("c", "new", _0="new:1")
    watched.read()
    assert 319 not in watched.asked()


def test_one_that_does_not_show_its_configuration_has_no_label(watched: Watched):
    watched.server.refusals[319] = (16, "no")
    assert watched.read()
    assert watched.rows.cluster_label == ""


def test_it_is_asked_every_half_second(watched: Watched):
    watched.read()
    watched.asked()
    assert not watched.read(after_ms=499)
    assert watched.asked() == []
    watched.read(after_ms=1)
    assert watched.asked()[:2] == [106, 206]


def test_a_new_broker_is_seen_at_the_next_question(watched: Watched):
    watched.read()
    watched.server.brokers["new"] = broker("c", "new", _0="10.0.0.9:1")
    watched.server.topics["fresh"] = [queues("new")]
    assert watched.read()
    assert route_at(watched.rows, "fresh", watched.clock.wall_ms).route is not None
    assert watched.rows.row_at(LiveKey("c", "10.0.0.9:1"), watched.clock.wall_ms) is not None


def test_of_many_topics_the_routes_are_asked_for_in_turns():
    """A name server with 20,000 topics is not asked for all of them twice a second."""
    server = FakeNamesrv(
        brokers={"b": broker("c", "b", _0="a:1")}, topics={f"t{n:03}": [queues("b")] for n in range(250)}
    )
    watched = Watched(server=server)
    watched.read()
    server.topics["t240"] = [queues("b", nums=9)]
    changed = []
    for _ in range(3):
        watched.asked()
        changed.append(watched.read())
        assert watched.asked().count(105) <= 100
    assert changed == [False, False, True]
    watched.source.close()


def test_one_that_can_not_be_reached_is_told_and_asked_again_later():
    watched = Watched(DEAD)
    assert watched.read()
    assert "Connection refused" in watched.history.followed.problem
    assert watched.rows.knows_up_to is None
    watched.asked()
    assert not watched.read(after_ms=1_999)
    assert watched.asked() == []
    watched.sender.servers[DEAD] = watched.server
    assert watched.read(after_ms=1)
    assert watched.history.followed.problem == ""
    watched.source.close()
    watched.source.close()


def test_what_it_held_while_it_was_away_is_unknown(watched: Watched):
    watched.read()
    watched.read()
    del watched.sender.servers[A]
    assert watched.read()
    assert not watched.read(after_ms=2_000)
    watched.sender.servers[A] = watched.server
    assert watched.read(after_ms=2_000)
    assert [period.state for period in watched.rows.periods()] == ["up", "unknown", "up"]

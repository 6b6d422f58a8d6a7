"""Incidents are the same whether every row of the journals was read, or only those that they need."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.answers.incidents.incident import incidents, incidents_of_cluster
from namekeeper.answers.incidents.reading import IncidentJournals
from namekeeper.drift.incidents import present_drift
from namekeeper.errors import ConfigError
from namekeeper.history.history import History
from namekeeper.history.rows import TopicKey
from namekeeper.history.sources.journal import part_of
from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.reading.reader import FoundJournal, JournalReader
from tests.support.history.histories import HOUR, MARCH, READ, WRITE, Broker, histories
from tests.support.journal.folder import journals_of, of_namesrvs
from tests.support.pipeline.days import MINUTE, Day
from tests.support.pipeline.written_histories import WRITTEN_HISTORIES
from tests.unit.console.test_histories import Clock

FOUND = WRITTEN_HISTORIES[0]
SECOND = 1_000


def all_of(journals: Sequence[FoundJournal]) -> list[History]:
    """The histories with all rows."""
    found = []
    for journal in map(JournalReader, journals):
        history = History(journal.namesrv)
        for step in part_of(journal, RecordReader(), 0):
            history.take(step)
        found.append(history)
    return found


@pytest.mark.parametrize(
    ("seed", "count", "actions"),
    [(7, 16, 12), *(pytest.param(seed, 40, 20, marks=pytest.mark.long) for seed in (3, 4, 5))],
)
def test_what_is_not_read_changes_no_incident(seed: int, count: int, actions: int, tmp_path: Path):
    compared = drifts = left_out = 0
    for number, each in enumerate(histories(seed, count, actions=actions)):
        journals = journals_of(tmp_path / str(number), each.records)
        whole, every = all_of(journals), IncidentJournals(journals).read(MARCH)
        read = [one.history for one in every]
        wanted = incidents_of_cluster(whole)
        assert incidents_of_cluster(read) == wanted
        compared += len(wanted)
        drift = present_drift(whole).incidents
        assert present_drift(read, {one.history.namesrv: one.topic_rows for one in every}).incidents == drift
        drifts += len(drift)
        left_out += rows_in(whole) - rows_in(read)
    assert compared > count
    assert drifts > count / 4
    assert left_out > 0


def rows_in(some: Sequence[History]) -> int:
    return sum(len([*each.keys(TopicKey)]) for each in some)


def test_only_topics_that_were_lost_are_read(tmp_path: Path):
    """A broker dies that alone had a topic; the name server restarts, and all come back."""
    day = Day(1, "few")
    (server,) = day.servers
    topics = [f"T{number:02}" for number in range(30)]
    dies, stays = broker("broker-d", 1, [*topics, "alone"]), broker("broker-s", 2, topics)
    for each in (dies, stays):
        day.register(SECOND, each)
    day.lose(HOUR, [dies], "expired")
    day.register(HOUR + MINUTE, dies)
    day.at(2 * HOUR, server.stop)
    day.at(2 * HOUR + MINUTE, server.start)
    for each in (dies, stays):
        day.register(2 * HOUR + MINUTE + SECOND, each)
    (read,) = IncidentJournals(journals_of(tmp_path, {server.name: day.records()})).read(MARCH)
    assert [*read.history.topics()] == ["alone"]
    assert read.topics == 31
    assert [(each.kind, each.topics) for each in incidents([read.history])] == [
        (IncidentKind.BROKER_AWAY, 1), (IncidentKind.NAME_SERVER_DOWN, 0),
    ]  # fmt: skip


def test_incidents_that_began_before_the_time_are_read_too(tmp_path: Path):
    """What was there a week before a time may be missing at it."""
    records = FOUND().records
    journals = journals_of(tmp_path, of_namesrvs(records))
    late = max(record["ts"] for record in records)
    every = incidents(each.history for each in IncidentJournals(journals).read(MARCH))
    assert incidents(each.history for each in IncidentJournals(journals).read(late)) == every


def test_running_name_servers_are_known_up_to_one_instant(tmp_path: Path):
    """Otherwise topics of one of them would be missing at the one that is known for longer."""
    day = Day(2)
    one, other = day.servers
    day.at(SECOND, lambda now: one.register(now, broker("broker-a", 1, ["T", "alone"])))
    day.at(SECOND, lambda now: other.register(now, broker("broker-a", 1, ["T"])))
    day.at(
        24 * HOUR - 30 * SECOND, lambda now: other.write(now, [{"kind": "server_alive", "connections": 0}])
    )
    found = journals_of(tmp_path, of_namesrvs(day.records()))
    present = MARCH + 24 * HOUR
    stopped = IncidentJournals(found, clock=Clock(present)).read(MARCH)
    assert [each.topics for each in incidents(each.history for each in stopped) if each.is_open] == [1]
    running = [FoundJournal(each.folder, is_running=True) for each in found]
    read = IncidentJournals(running, clock=Clock(present)).read(MARCH)
    assert [each.up_to for each in read] == [present, present]
    ends = {each.history.namesrv: each.up_to for each in read}
    assert incidents((each.history for each in read), up_to=ends) == []


def test_two_journals_of_one_name_server_are_refused(tmp_path: Path):
    of_each = of_namesrvs(FOUND().records)
    one, other = journals_of(tmp_path / "a", of_each), journals_of(tmp_path / "b", of_each)
    with pytest.raises(ConfigError, match="are both the journal of"):
        IncidentJournals([*one, *other])


def broker(name: str, number: int, topics: Sequence[str]) -> Broker:
    specs = dict.fromkeys(topics, (8, 8, READ | WRITE, 0))
    return Broker("c", name, 0, f"10.0.0.{number}:10911", False, None, specs, {})

"""Drift of observed name servers: it counts only outside of the windows of changes, and when an observer may know."""

from dataclasses import replace

import pytest

from namekeeper.drift.report import DriftReport, find_drift
from namekeeper.drift.verdict import DriftKind
from namekeeper.history.history import History
from tests.support.history.histories import Broker
from tests.support.history.histories import History as Written
from tests.support.history.observed import BEGIN, BROKER, FIRST, MINUTE, SECOND, observed
from tests.support.journal.history import history_of
from tests.support.pipeline.law import read

OTHER: Broker = replace(BROKER, name="b1", addr="10.0.0.2:10911", topics={})


def histories(written: Written) -> list[History]:
    return [history_of(namesrv, list(read(records))) for namesrv, records in written.records.items()]


def lost_at_second(window_ms: int, then: int, *, end: int = 30 * MINUTE) -> DriftReport:
    """One broker goes at the second name server after ten minutes; drift so long after that."""
    written, servers = observed(FIRST, SECOND)
    for server in servers:
        server.come(0, 0)
        server.come(1_000, 0, OTHER)
    servers[1].go(10 * MINUTE, window_ms)
    for server in servers:
        server.end(end)
    return find_drift(histories(written), BEGIN + 10 * MINUTE + then)


@pytest.mark.parametrize(
    ("then", "verdicts", "unsettled"), [(-6_001, 0, 0), (-1, 0, 0), (4_999, 0, 1), (5_000, 1, 0)]
)
def test_within_the_window_of_the_change_name_servers_agree(then, verdicts, unsettled):
    found = lost_at_second(6_000, then)
    assert (len(found.verdicts), found.unsettled) == (verdicts, unsettled)


def test_the_start_has_the_window_of_the_change():
    (found,) = lost_at_second(6_000, 20_000).verdicts
    assert (found.kind, found.since, found.since_window_ms) == (
        DriftKind.BROKER_MISSING, BEGIN + 10 * MINUTE, 6_000,
    )  # fmt: skip
    assert found.details[0].window_ms == 6_000


def test_a_disagreement_within_the_window_of_its_end_does_not_count():
    """The first name server lost the broker in the same window: it may have lost it at the same time."""
    written, servers = observed(FIRST, SECOND)
    for server in servers:
        server.come(0, 0)
        server.come(1_000, 0, OTHER)
    servers[1].go(10 * MINUTE, 6_000)
    servers[0].go(10 * MINUTE + 50_000, 60_000)
    for server in servers:
        server.end(30 * MINUTE)
    found = find_drift(histories(written), BEGIN + 10 * MINUTE + 30_000)
    assert (found.verdicts, found.unsettled) == ([], 1)


def test_a_name_server_that_is_not_observed_is_not_compared():
    written, servers = observed(FIRST, SECOND)
    for server in servers:
        server.come(0, 0)
    servers[1].go(MINUTE, 0)
    servers[1].end(2 * MINUTE)
    servers[0].end(30 * MINUTE)
    found = find_drift(histories(written))
    assert found.verdicts == []
    assert [(each.namesrv, each.compared_with, each.why_not) for each in found.name_servers] == [
        (FIRST, [], ""),
        (SECOND, [], "its records end long before those of the others"),
    ]
    assert not found.is_compared


def observing(written: Written) -> Written:
    """The same records, as an observer writes them."""
    for records in written.records.values():
        for record in records:
            if record["kind"] == "server_started":
                record["observed_addr"] = "10.0.0.9:9876"
    return written


@pytest.mark.parametrize(("then", "count"), [(9_000, 0), (11_000, 1)])
def test_queues_count_after_the_sweep_of_an_observer(then, count):
    """It takes at least the shortest time between two lookups of a topic, and an answer."""
    written, servers = observed(FIRST, SECOND)
    for server in servers:
        server.come(0, 0)
    servers[0].change_topics(10 * MINUTE, 0, orders=(8, 8, 6, 0))
    for server in servers:
        server.end(30 * MINUTE)
    found = find_drift(histories(observing(written)), BEGIN + 10 * MINUTE + then)
    assert (len(found.verdicts), found.unsettled) == (count, 1 - count)


def test_the_longest_window_of_an_observer_counts():
    written, servers = observed(FIRST, SECOND)
    for server in servers:
        server.come(0, 0)
        server.change_topics(MINUTE, 40_000, orders=(6, 6, 6, 0))
    servers[0].change_topics(10 * MINUTE, 0, orders=(8, 8, 6, 0))
    for server in servers:
        server.end(30 * MINUTE)
    found = histories(observing(written))
    for then, count in ((39_000, 0), (41_000, 1)):
        assert len(find_drift(found, BEGIN + 10 * MINUTE + then).verdicts) == count


def test_an_observed_name_server_without_kv_entries_can_not_tell_about_them():
    """It may refuse the request for them."""
    written, servers = observed(FIRST, SECOND)
    for server in servers:
        server.come(0, 0)
    servers[0].set_kv(BEGIN + MINUTE, "kv", ("ORDER_TOPIC_CONFIG", "orders"), "b0:4")
    for server in servers:
        server.end(30 * MINUTE)
    (own,) = find_drift(histories(written)).verdicts
    assert own.kind is DriftKind.ORDER_DIFFERS
    assert find_drift(histories(observing(written))).verdicts == []


@pytest.mark.parametrize(
    ("restart", "kind", "words"),
    [
        ("", DriftKind.BROKER_MISSING, "b1 (10.0.0.2:10911) registers with 1 of 2 name servers"),
        ("possible", DriftKind.PARTIAL_LIST, "has a partial list since its possible restart: 1 of 2"),
        ("seen", DriftKind.PARTIAL_LIST, "has a partial list since its restart: 1 of 2"),
    ],
)
def test_only_what_may_be_a_restart_is_one(restart, kind, words):
    written, servers = observed(FIRST, SECOND)
    for server in servers:
        server.come(0, 0)
        server.come(1_000, 0, OTHER)
    servers[1].crash(BEGIN + 5 * MINUTE)
    servers[1].start(BEGIN + 6 * MINUTE)
    servers[1].come(7 * MINUTE, 0)
    for server in servers:
        server.end(30 * MINUTE)
    started = [record for record in observing(written).records[SECOND] if record["kind"] == "server_started"]
    started[-1]["restart"] = restart
    (found,) = find_drift(histories(written)).verdicts
    assert found.kind is kind
    assert words in found.summary

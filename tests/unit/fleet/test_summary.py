"""Counting."""

from namekeeper.broker.namesrv_session import RegisterBrokerResult
from namekeeper.errors import RemotingConnectError
from namekeeper.fleet.fleet import FleetSummary


def test_results_are_counted_by_name_server():
    summary = FleetSummary(brokers=2)
    for result in (
        RegisterBrokerResult("a:1"),
        RegisterBrokerResult("a:1"),
        RegisterBrokerResult("b:1", error=RemotingConnectError("b:1", "refused")),
    ):
        summary.count(result)
    summary.actions["Die"] += 1
    assert summary.to_dict() == {
        "brokers": 2, "running": 0, "topics": 0, "actions": {"Die": 1}, "failed_actions": 0,
        "registrations": {"a:1": 2}, "failures": {"b:1": 1}, "last_failure": "b:1: refused",
    }  # fmt: skip

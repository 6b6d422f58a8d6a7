"""Lines about incidents."""

from datetime import UTC

import pytest
from msgspec import to_builtins

from namekeeper.answers.incidents.deviation import Deviation, DeviationKind
from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.answers.incidents.incident import FoundIncident
from namekeeper.answers.incidents.texts import incident_line, incident_value, what, why

MINUTE = 60_000
ORDER = Deviation(
    kind=DeviationKind.ORDER_CHANGED, cluster="c", topic="orders", brokers=(), expected="b0:4", actual="b0:8",
    name_servers=("ns",), of_name_servers=1, since=0, to=None,
)  # fmt: skip


def incident(kind: IncidentKind, cause: str | None = None, **more: object) -> FoundIncident:
    values = {
        "cluster": "c", "subject": "b0", "from_ts": 0, "to_ts": None, "peer": None, "brokers": 1,
        "broker_names": ["b0"], "topics": 0, "first_topic": None, "name_servers": [], **more,
    }  # fmt: skip
    return FoundIncident(kind=kind, cause=cause, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "words", "cause"),
    [
        (incident(IncidentKind.BROKER_AWAY, "expired"), "b0 away", "silent for too long"),
        (incident(IncidentKind.BROKER_AWAY, "channel_closed", closed_by="reset", peer="p:1"), "b0 away",
         "connection closed: it was reset"),
        (incident(IncidentKind.BROKER_AWAY, brokers=2), "b0 away (2 brokers)", ""),
        (incident(IncidentKind.BROKER_AWAY, broker_ids=[[0]]), "b0 away", ""),
        (incident(IncidentKind.BROKER_AWAY, broker_ids=[[1]]), "b0 (id 1) away", ""),
        (incident(IncidentKind.BROKER_AWAY, brokers=2, broker_ids=[[0, 1]]), "b0 away (2 brokers)", ""),
        (incident(IncidentKind.BROKER_UNREGISTERED, broker_ids=[[2]]), "b0 (id 2) unregistered", ""),
        (incident(IncidentKind.MASS_DISCONNECT, brokers=3, broker_names=["b0", "b1"], broker_ids=[[1, 2], [0]]),
         "3 brokers of 2 names went together: b0 (id 1, 2), b1", ""),
        (incident(IncidentKind.BROKER_AWAY, "observed"), "b0 away", ""),
        (incident(IncidentKind.MASS_DISCONNECT, brokers=4, broker_names=["b0", "b1", "b2"]),
         "4 brokers of 3 names went together: b0, b1, b2", ""),
        (incident(IncidentKind.PERMISSION_WIPED, "add_write_perm", peer="p:1"),
         "permission to write to b0 wiped", "write permission added by p:1"),
        (incident(IncidentKind.DEVIATION, "put_kv_config", peer="p:1", deviations=[ORDER]),
         "order configuration of topic orders is b0:8 instead of b0:4", "KV entry put by p:1"),
        (incident(IncidentKind.MASS_DISCONNECT, brokers=5, broker_names=["b0", "b1", "b2", "b3", "b4"]),
         "5 brokers went together: b0, b1, b2 and 2 more", ""),
        (incident(IncidentKind.BROKER_UNREGISTERED, "unregister_broker", peer="p:1"), "b0 unregistered", "unregistered by p:1"),
        (incident(IncidentKind.PERMISSION_WIPED, "wipe_write_perm", peer="p:1"), "permission to write to b0 wiped",
         "write permission wiped by p:1"),
        (incident(IncidentKind.TOPIC_UNWRITABLE, "register_broker", topics=3, first_topic="T"),
         "T and 2 more without a queue to write to", "registered otherwise by its broker"),
        (incident(IncidentKind.TOPIC_DELETED, "delete_topic", topics=1, first_topic="T"), "T deleted, and clients ask for it",
         "topic deleted"),
        (incident(IncidentKind.NAME_SERVER_DOWN, "no_stop", subject="ns-1"), "name server ns-1 down", "ended without being stopped"),
        (incident(IncidentKind.BROKER_AWAY, "cause_of_tomorrow"), "b0 away", "cause of tomorrow"),
    ],
)  # fmt: skip
def test_a_line_names_what_and_why(one: FoundIncident, words: str, cause: str):
    assert (what(one), why(one)) == (words, cause)


def test_a_line_has_the_time_and_the_cost():
    one = incident(IncidentKind.BROKER_AWAY, "expired", topics=2, first_topic="T", lookups=1_204)
    assert incident_line(one, 2 * MINUTE, UTC) == (
        "b0 away  since 1970-01-01 00:00:00.000 UTC (2 min)  silent for too long"
        "  without a queue to write to: T and 1 more, 1,204 lookups in vain"
    )


def test_an_incident_that_ended_because_nobody_expected_the_broker_says_so():
    one = incident(IncidentKind.BROKER_AWAY, to_ts=MINUTE, is_forgotten=True)
    assert incident_line(one, 9 * MINUTE, UTC) == (
        "b0 away  1970-01-01 00:00:00.000 UTC to 1970-01-01 00:01:00.000 UTC (1 min), then not expected any more"
    )


def test_an_observed_incident_began_between_two_times():
    one = incident(IncidentKind.BROKER_AWAY, from_ts=MINUTE, from_window_ms=2_000)
    began = "between 1970-01-01 00:00:58.000 UTC and 1970-01-01 00:01:00.000 UTC"
    assert incident_line(one, MINUTE, UTC) == f"b0 away  began {began} (0 ms)"
    one.to_ts = 2 * MINUTE
    assert incident_line(one, 9 * MINUTE, UTC) == (
        f"b0 away  {began}, over at 1970-01-01 00:02:00.000 UTC (1 min)"
    )


def test_an_observed_incident_is_over_between_two_times():
    one = incident(IncidentKind.BROKER_AWAY, to_ts=MINUTE, to_window_ms=2_000)
    over = "over between 1970-01-01 00:00:58.000 UTC and 1970-01-01 00:01:00.000 UTC"
    assert incident_line(one, 9 * MINUTE, UTC) == f"b0 away  1970-01-01 00:00:00.000 UTC, {over} (1 min)"


def test_json_has_times_in_utc_beside_those_in_ms():
    value = to_builtins(incident_value(incident(IncidentKind.BROKER_AWAY, to_ts=MINUTE)))
    assert (value["from"], value["to"], value["is_open"]) == (
        "1970-01-01T00:00:00.000Z",
        "1970-01-01T00:01:00.000Z",
        False,
    )

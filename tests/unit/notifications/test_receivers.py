"""Who gets an incident: severity, kinds, clusters, name servers, hours."""

from datetime import UTC, datetime, time

import pytest

from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.answers.times import zone_of
from namekeeper.notifications.incident_facts import SeenIncident, facts_of
from namekeeper.notifications.receivers import IncidentSeverity, QuietHours, is_wanted, severity_of
from tests.unit.notifications.seen import found, receiver


def facts(*, namesrvs=("east.ns1_9876",), **more):
    return facts_of(SeenIncident(found(**more), namesrvs))


@pytest.mark.parametrize(
    ("more", "severity"),
    [
        ({}, IncidentSeverity.WARNING),
        ({"topics": 1, "first_topic": "T"}, IncidentSeverity.CRITICAL),
        ({"kind": IncidentKind.MASS_DISCONNECT}, IncidentSeverity.CRITICAL),
        ({"kind": IncidentKind.BROKER_UNREGISTERED}, IncidentSeverity.INFO),
        (
            {"kind": IncidentKind.BROKER_UNREGISTERED, "topics": 1, "first_topic": "T"},
            IncidentSeverity.CRITICAL,
        ),
        ({"kind": IncidentKind.TOPIC_DELETED, "topics": 1, "first_topic": "T"}, IncidentSeverity.WARNING),
        ({"kind": IncidentKind.TOPIC_UNWRITABLE, "topics": 1, "first_topic": "T"}, IncidentSeverity.CRITICAL),
    ],
)
def test_an_incident_that_takes_topics_is_critical(more, severity):
    assert severity_of(facts(**more), {}) == severity


def test_a_severity_that_is_given_counts():
    given = {IncidentKind.BROKER_AWAY: IncidentSeverity.INFO}
    assert severity_of(facts(topics=1, first_topic="T"), given) is IncidentSeverity.INFO


@pytest.mark.parametrize(
    ("more", "is_it"),
    [
        ({}, True),
        ({"least": IncidentSeverity.WARNING}, True),
        ({"least": IncidentSeverity.CRITICAL}, False),
        ({"kinds": frozenset({IncidentKind.BROKER_AWAY})}, True),
        ({"kinds": frozenset({IncidentKind.NAME_SERVER_DOWN})}, False),
        ({"clusters": ("prod-*", "c")}, True),
        ({"clusters": ("prod-*", "C")}, False),
        ({"name_servers": ("east.*",)}, True),
        ({"name_servers": ("west.*",)}, False),
    ],
)
def test_a_receiver_gets_what_all_its_conditions_allow(more, is_it):
    assert is_wanted(receiver(**more), facts(), IncidentSeverity.WARNING) is is_it


def test_an_incident_of_a_name_server_is_about_that_name_server():
    about = {"kind": IncidentKind.NAME_SERVER_DOWN, "cluster": None, "name_servers": ["ns1_9876"]}
    down = facts(namesrvs=("ns1_9876", "ns2_9876"), **about)
    assert is_wanted(receiver(name_servers=("ns1*",)), down, IncidentSeverity.WARNING)
    assert not is_wanted(receiver(name_servers=("ns2*",)), down, IncidentSeverity.WARNING)
    assert not is_wanted(receiver(clusters=("*",)), down, IncidentSeverity.WARNING)


@pytest.mark.parametrize(
    ("text", "hour", "minute", "is_in"),
    [
        ("22:00-07:00", 22, 0, True), ("22:00-07:00", 21, 59, False), ("22:00-07:00", 6, 59, True),
        ("22:00-07:00", 7, 0, False), ("12:30 - 13:00", 12, 29, False), ("12:30-13:00", 12, 30, True),
        ("12:30-13:00", 13, 0, False),
    ],
)  # fmt: skip
def test_quiet_hours_begin_with_their_first_minute_and_may_go_over_midnight(text, hour, minute, is_in):
    at = datetime(2026, 7, 1, hour, minute, tzinfo=UTC)
    assert QuietHours.parse(text).has(int(at.timestamp() * 1_000), UTC) is is_in


def test_quiet_hours_are_those_of_the_zone():
    hours = QuietHours(time(22), time(7))
    at = int(datetime(2026, 7, 1, 20, 30, tzinfo=UTC).timestamp() * 1_000)
    assert hours.has(at, zone_of("Europe/Berlin"))
    assert not hours.has(at, UTC)


@pytest.mark.parametrize("text", ["", "22-7", "24:00-07:00", "22:00", "22:00-22:00", "22:60-07:00"])
def test_what_is_no_time_of_day_is_refused(text):
    with pytest.raises(ValueError, match="write it as 22:00-07:00"):
        QuietHours.parse(text)

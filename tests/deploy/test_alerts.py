"""The alert rules: each fires in its incident and is silent without one, by Prometheus' own tool."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest
import yaml

from namekeeper.common.slices import run_slices
from namekeeper.console.metrics import DriftCollector, IncidentCollector
from namekeeper.console.metrics import render_metrics as render_companion
from namekeeper.drift.report import DriftReport
from namekeeper.drift.verdict import DriftKind
from namekeeper.http.metrics import render_metrics
from namekeeper.http.stats import NameServerStats
from namekeeper.notifications.metrics import MessagesCollector
from namekeeper.notifications.outbox import ReceiverState
from namekeeper.observe.reporting import ObserverCollector
from namekeeper.route.fingerprint import fingerprints
from tests.deploy.metrics import metrics_text, our_metrics
from tests.deploy.prometheus import RULES, STEPS, Case, firing, firing_in, needs_promtool, promtool
from tests.support.server.builders import World, body, channel, header

ALERTS = {
    rule["alert"]: rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
}


def name(metric: str, **labels: str) -> str:
    inside = ",".join(f'{label}="{value}"' for label, value in {"job": "namekeeper", **labels}.items())
    return f"{metric}{{{inside}}}"


def of(metric: str, instance: str = "a", **labels: str) -> str:
    return name(f"rocketmq_namesrv_{metric}", instance=instance, **labels)


def drift(kind: str) -> str:
    return f'namekeeper_drift_verdicts{{job="console",instance="c",kind="{kind}"}}'


def always(value: object) -> str:
    return f"{value}x{STEPS}"


EXPIRED = of("expiry_events_total", result="expired")
NEW = of("registration_events_total", result="new")
NOT_FOUND = of("route_request_total", result="topic_not_exist")

WELL = {
    **{name("up", instance=each): always(1) for each in "ab"},
    **{of("ready", each): always(1) for each in "ab"},
    **{of("start_time_seconds", each): always(0) for each in "ab"},
    **{of("active_brokers", each): always(8) for each in "ab"},
    **{of("topics", each): always(20) for each in "ab"},
    **{of("queue_rows", each): always(160) for each in "ab"},
    **{
        of("fingerprint", each, part=part): always(123)
        for each in "ab"
        for part in ("brokers", "topics", "kv")
    },
    **{drift(kind): always(0) for kind in DriftKind},
    "namekeeper_observe_not_recording": always(0),
    name("namekeeper_messages_failing", receiver="ops"): always(0),
    of("unwritable_topics"): always(0),
    of("missing_brokers"): always(0),
    of("missing_topics"): always(0),
    of("channel_close_removals_total"): always(2),
    EXPIRED: always(1),
    NEW: always(8),
    NOT_FOUND: f"0+3x{STEPS}",
    of("journal_writable"): always(1),
    of("journal_dropped_records_total"): always(5),
    of("journal_queue_depth"): always(3),
    of("journal_free_bytes"): always(50_000_000_000),
    of("unknown_network_registrations_total"): always(1),
    of("handler_errors_total"): always(1),
    of("tls_certificate_not_after_seconds", port="remoting"): always(30 * 86_400),
}
"""Two name servers that are well; one topic in ten seconds is asked for in vain."""

LOST = {
    **{of("active_brokers", each): f"8x60 7x{STEPS}" for each in "ab"},
    **{of("missing_brokers", each): f"0x60 1x{STEPS}" for each in "ab"},
}
STOPPED = {of("active_brokers", each): f"8x60 7x{STEPS}" for each in "ab"}
INCIDENTS = {
    "NamesrvGone": ({name("up", instance="b"): f"1x60 0x{STEPS}"}, {}),
    "NamesrvAllGone": ({name("up", instance=each): f"1x60 0x{STEPS}" for each in "ab"}, {"NamesrvGone": 2}),
    "NamesrvNotReady": ({of("ready"): f"1x60 0x{STEPS}"}, {}),
    "NamesrvNobodyRegistered": ({of("active_brokers", each): always(0) for each in "ab"}, {}),
    "NamesrvBrokerGone": (LOST, {}),
    "NamesrvBrokersFlap": ({of("channel_close_removals_total"): f"0+1x{STEPS}", NEW: f"0+1x{STEPS}"}, {}),
    "NamesrvTopicMissing": ({of("missing_topics"): f"0x60 4x{STEPS}"}, {}),
    "NamesrvTopicUnwritable": ({of("unwritable_topics"): f"0x60 4x{STEPS}"}, {}),
    "NamesrvTopicsNotFound": ({NOT_FOUND: f"0+60x{STEPS}"}, {}),
    "NamesrvsDisagree": ({of("fingerprint", "b", part="topics"): f"123x60 124x{STEPS}"}, {}),
    "NamesrvsDrift": ({drift("broker_missing"): f"0x60 1x{STEPS}"}, {}),
    "NamesrvObserverNotRecording": ({"namekeeper_observe_not_recording": f"0x60 1x{STEPS}"}, {}),
    "NamesrvMessagesNotSent": (
        {name("namekeeper_messages_failing", receiver="ops"): f"0x60 1x{STEPS}"},
        {},
    ),
    "NamesrvJournalNotWritable": ({of("journal_writable"): f"1x60 0x{STEPS}"}, {}),
    "NamesrvJournalDrops": ({of("journal_dropped_records_total"): f"0x70 9x{STEPS}"}, {}),
    "NamesrvJournalBehind": ({of("journal_queue_depth"): f"3x60 5000x{STEPS}"}, {}),
    "NamesrvDiskNearlyFull": ({of("journal_free_bytes"): f"2e9x60 5e8x{STEPS}"}, {}),
    "NamesrvUnknownNetwork": ({of("unknown_network_registrations_total"): f"0x70 1x{STEPS}"}, {}),
    "NamesrvDegraded": ({of("degraded", reason="log"): always(1)}, {}),
    "NamesrvCertificateExpires": (
        {of("tls_certificate_not_after_seconds", port="remoting"): f"{30 * 86_400}x60 {6 * 86_400}x{STEPS}"},
        {},
    ),
    "NamesrvHandlerErrors": ({of("handler_errors_total"): f"1x70 2x{STEPS}"}, {}),
}
"""Alert -> the series that differ, and other alerts that must fire with it -> how often."""

AT = "39m"
TWICE = {"NamesrvAllGone": 1, "NamesrvNobodyRegistered": 2, "NamesrvBrokerGone": 2}
"""Alerts that the incident raises for each of the two name servers, or for both together."""


@needs_promtool
def test_the_rules_are_rules():
    done = promtool("check", "rules", str(RULES))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(ALERTS)} rules found" in done.stdout


@needs_promtool
def test_name_servers_that_are_well_raise_nothing(tmp_path: Path):
    assert firing(tmp_path, {**WELL, name("up", instance="c"): always(0)}, AT) == {"NamesrvGone": 1}


def scraped(offset: int, every: int, held: Callable[[int], int]) -> str:
    """What Prometheus sees second by second of a name server that takes a fingerprint each half minute."""
    seen = [held(max(0, second - offset) // every * every + offset) for second in range(241)]
    return " ".join(map(str, seen))


def disagree_at(folder: Path, seconds: Iterable[int], held_by: Mapping[str, str]) -> list[int]:
    """How often the alert fires at each second."""
    series = {of("fingerprint", instance, part="topics"): values for instance, values in held_by.items()}
    case = Case(series, [f"{second}s" for second in seconds])
    return [found.get("NamesrvsDisagree", 0) for found in firing_in(folder, [case], step_seconds=1)]


def half_minute(second: int) -> int:
    """The fingerprint of tables that change all the time."""
    return second // 30


@needs_promtool
@pytest.mark.parametrize("every", [5, 15, 30])
def test_tables_that_change_all_the_time_are_no_disagreement(tmp_path: Path, every: int):
    """However Prometheus comes to the one name server before and to the other after a new fingerprint."""
    held_by = {"a": scraped(0, every, half_minute), "b": scraped(every * 2 // 3, every, half_minute)}
    assert disagree_at(tmp_path, (180, 199, 220, 239), held_by) == [0] * 4


@needs_promtool
@pytest.mark.parametrize("every", [5, 15])
def test_name_servers_that_differ_in_a_change_are_told_after_a_minute(tmp_path: Path, every: int):
    """A name server that missed one of many changes: as many rows, never the same."""

    def missed(second: int) -> int:
        return half_minute(second) + (1000 if second >= 60 else 0)

    held_by = {"a": scraped(0, every, half_minute), "b": scraped(every * 2 // 3, every, missed)}
    assert disagree_at(tmp_path, (110, 140), held_by) == [0, 1]


@needs_promtool
@pytest.mark.parametrize("every", [5, 15])
def test_one_fingerprint_that_differs_is_no_alert(tmp_path: Path, every: int):
    """A change that one name server has just before the full minute, and the other just after."""

    def late(second: int) -> int:
        return 1 if 60 <= second < 90 else 0

    held_by = {"a": scraped(0, every, lambda _: 0), "b": scraped(every - 1, every, late)}
    assert disagree_at(tmp_path, range(60, 180, 15), held_by) == [0] * 8


def shown_by(instance: str, *topics: str) -> dict[str, str]:
    """The fingerprints in the metrics of a name server with these topics, as Prometheus has them."""
    world = World()
    world.register(header("broker-a", "10.0.0.1:10911"), body(list(topics)), channel(1))
    found = run_slices(fingerprints(world.tables, {}))
    stats = NameServerStats(version="1", start_time_seconds=1.0, fingerprints=found)
    lines = re.findall(
        r'^rocketmq_namesrv_fingerprint{part="(\w+)"} (\S+)$', render_metrics(stats)[0].decode(), re.MULTILINE
    )
    assert {part: float(value) for part, value in lines} == found
    return {of("fingerprint", instance, part=part): always(int(float(value))) for part, value in lines}


@needs_promtool
@pytest.mark.parametrize(
    ("topics", "expected"), [(("T2", "T1"), {}), (("T1", "T3"), {"NamesrvsDisagree": 1})]
)
def test_name_servers_with_as_many_topics_but_not_the_same_disagree(
    tmp_path: Path, topics: tuple[str, ...], expected: dict[str, int]
):
    """Real fingerprints, as `/metrics` has them: none differs by the order, each by a name."""
    assert firing(tmp_path, {**WELL, **shown_by("a", "T1", "T2"), **shown_by("b", *topics)}, AT) == expected


@needs_promtool
def test_each_alert_fires_in_its_incident_alone(tmp_path: Path):
    found = firing_in(tmp_path, [Case({**WELL, **series}, [AT]) for series, _ in INCIDENTS.values()])
    assert dict(zip(INCIDENTS, found, strict=True)) == {
        alert: {alert: TWICE.get(alert, 1), **others} for alert, (_, others) in INCIDENTS.items()
    }


@needs_promtool
def test_a_broker_that_stopped_in_order_raises_nothing(tmp_path: Path):
    assert firing(tmp_path, {**WELL, **STOPPED}, AT) == {}


@needs_promtool
def test_the_alert_of_a_missing_broker_lasts_as_long_as_the_broker_is_missing(tmp_path: Path):
    """It ended by itself after 30 minutes."""
    lost = {of("missing_brokers", each): "0x13 1x500" for each in "ab"}
    gone = {of("active_brokers", each): "8x13 7x500" for each in "ab"}
    up = {name("up", instance=each): "1x500" for each in "ab"}
    case = Case({**up, **gone, **lost}, ["34m", "2h", "11h"])
    assert firing_in(tmp_path, [case], step_seconds=120) == [{"NamesrvBrokerGone": 2}] * 3


def test_every_alert_has_an_incident():
    assert INCIDENTS.keys() == ALERTS.keys()


def test_every_metric_of_the_rules_is_one_of_ours():
    companions = (
        DriftCollector(DriftReport(0, [], [], 0)), IncidentCollector([], {}), ObserverCollector({}),
        MessagesCollector({"ops": ReceiverState(since=0)}),
    )  # fmt: skip
    of_console, _ = render_companion(companions)
    pattern = r"\b(?:rocketmq|namekeeper)_\w+"
    named = {word for rule in ALERTS.values() for word in re.findall(pattern, rule["expr"])}
    assert named
    assert named <= our_metrics() | set(re.findall(r"^namekeeper_\w+", of_console.decode(), re.MULTILINE))


def test_every_label_of_the_rules_is_one_of_ours():
    named = {label for rule in ALERTS.values() for label in re.findall(r'result="\w+"', rule["expr"])}
    assert named
    assert all(label in metrics_text() for label in named)

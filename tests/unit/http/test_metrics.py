import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec import structs
from msgspec.structs import fields
from prometheus_client.parser import text_string_to_metric_families

from namekeeper.http import metrics
from namekeeper.http.metrics import render_metrics, request_type_name, result_name
from namekeeper.http.stats import DurationStats, JournalStats, NameServerStats

EMPTY = NameServerStats(version="1.2.3", start_time_seconds=1_700_000_000.5)
FULL = NameServerStats(
    version="1.2.3",
    event_loop="uvloop",
    front="native",
    start_time_seconds=1_700_000_000.5,
    active_brokers=3,
    topics=7,
    active_connections=5,
    accepted_connections=9,
    requests={(105, 0): 10, (105, 17): 2, (103, 0): 4, (-1, 3): 1, (4711, 3): 2, (105, 999): 1},
    refused={("admin", "operators", "enforce"): 3},
    registrations={"new": 1, "shortcut": 3},
    expiries=2,
    closed_channels={"peer": 4},
    kv_generation=8,
    degraded=("journal",),
    loop_lag_max_seconds=0.25,
    journal=JournalStats(last_seq=12, durable_seq=11, dropped_records=1),
)


@dataclass
class Scrape:
    text: str

    def __getitem__(self, sample: str) -> float:
        (line,) = [line for line in self.text.splitlines() if line.rpartition(" ")[0] == sample]
        return float(line.rpartition(" ")[2])


def scrape(stats: NameServerStats) -> Scrape:
    return Scrape(render_metrics(stats)[0].decode())


def test_it_is_up_and_says_what_it_is() -> None:
    got = scrape(FULL)

    assert got["rocketmq_nameserver_up"] == 1
    assert re.search(
        r'rocketmq_namesrv_build_info\{event_loop="uvloop",front="native",python="3\.\d+\.\d+",version="1\.2\.3"\} 1\.0',
        got.text,
    )
    assert got["rocketmq_namesrv_start_time_seconds"] == 1_700_000_000.5
    assert got["rocketmq_namesrv_ready"] == 1


def test_numbers_without_labels_are_there_even_when_nothing_happened() -> None:
    got = scrape(EMPTY)

    for metric in metrics._GAUGES:
        assert got[f"rocketmq_namesrv_{metric.name}"] == getattr(EMPTY, metric.field)
    for metric in metrics._COUNTERS:
        assert got[f"rocketmq_namesrv_{metric.name}_total"] == 0


def test_every_number_of_the_stats_is_shown_somewhere() -> None:
    plain = {metric.field for metric in (*metrics._GAUGES, *metrics._COUNTERS)}
    otherwise = {
        "version", "event_loop", "front", "is_ready", "degraded", "fingerprints", "kv_generation", "closed_channels",
        "closed_broker_channels", "requests", "refused",
        "registrations", "expiries", "journal", "durations", "certificates",
    }  # fmt: skip
    journal = {metric.field for metric in (*metrics._JOURNAL_GAUGES, *metrics._JOURNAL_COUNTERS)}

    assert plain | otherwise == {field.name for field in fields(NameServerStats)}
    assert journal | {"namesrv", "boot", "folder"} == {field.name for field in fields(JournalStats)}


def test_requests_are_counted_by_name_and_answer() -> None:
    got = scrape(FULL)

    assert (
        got['rocketmq_namesrv_requests_total{request_type="GET_ROUTEINFO_BY_TOPIC",result="success"}'] == 10
    )
    assert (
        got['rocketmq_namesrv_requests_total{request_type="GET_ROUTEINFO_BY_TOPIC",result="topic_not_exist"}']
        == 2
    )
    assert got['rocketmq_namesrv_requests_total{request_type="REGISTER_BROKER",result="success"}'] == 4
    assert (
        got['rocketmq_namesrv_requests_total{request_type="OTHER",result="request_code_not_supported"}'] == 3
    )
    assert got['rocketmq_namesrv_route_request_total{result="other"}'] == 1


def test_the_names_of_the_rust_dashboards_are_served() -> None:
    got = scrape(FULL)

    assert got["rocketmq_namesrv_active_brokers"] == 3
    assert got["rocketmq_namesrv_active_connections"] == 5
    assert got['rocketmq_namesrv_expiry_events_total{result="expired"}'] == 2
    assert got['rocketmq_namesrv_kv_generation{state="current"}'] == 8
    assert got['rocketmq_namesrv_registration_events_total{result="shortcut"}'] == 3


def test_a_fingerprint_is_shown_to_its_last_bit() -> None:
    stats = NameServerStats(version="1", start_time_seconds=1.0, fingerprints={"topics": 2**48 - 1})
    assert scrape(stats)['rocketmq_namesrv_fingerprint{part="topics"}'] == 2**48 - 1
    assert "rocketmq_namesrv_fingerprint{" not in scrape(EMPTY).text


def test_what_is_wrong_is_named() -> None:
    assert scrape(FULL)['rocketmq_namesrv_degraded{reason="journal"}'] == 1
    assert "degraded{" not in scrape(EMPTY).text


def test_the_space_left_on_the_disk_of_the_journal_is_asked_when_it_is_shown(tmp_path: Path) -> None:
    name = "rocketmq_namesrv_journal_free_bytes"
    here = structs.replace(FULL, journal=JournalStats(folder=str(tmp_path)))
    gone = structs.replace(FULL, journal=JournalStats(folder=str(tmp_path / "gone")))
    assert scrape(here)[name] > 0
    assert name not in scrape(gone).text


def test_a_journal_has_numbers_of_its_own() -> None:
    got = scrape(FULL)

    assert got["rocketmq_namesrv_journal_durable_seq"] == 11
    assert got["rocketmq_namesrv_journal_dropped_records_total"] == 1
    assert got["rocketmq_namesrv_journal_writable"] == 1
    assert "journal_last_seq" not in scrape(EMPTY).text


def test_the_process_is_described() -> None:
    assert scrape(EMPTY)["process_resident_memory_bytes"] > 1_000_000


def test_names_follow_the_conventions_of_prometheus() -> None:
    for family in text_string_to_metric_families(scrape(FULL).text):
        assert family.documentation.endswith("."), family.name
        assert re.fullmatch(r"(rocketmq_namesrv|rocketmq_nameserver|process)_[a-z_]+", family.name)
        assert family.type in {"counter", "gauge", "histogram"}
        assert not re.search(r"_(ms|millis|kb|mb|minutes)(_|$)", family.name)


def test_no_label_can_grow_with_the_cluster() -> None:
    labels = {
        label
        for family in text_string_to_metric_families(scrape(FULL).text)
        for sample in family.samples
        for label in sample.labels
    }

    assert labels == {
        "version",
        "python",
        "event_loop",
        "front",
        "le",
        "reason",
        "request_type",
        "class",
        "rule",
        "mode",
        "result",
        "state",
    }


def test_openmetrics_is_spoken_to_who_asks_for_it() -> None:
    text, content_type = render_metrics(FULL, "application/openmetrics-text; version=1.0.0")

    assert text.endswith(b"# EOF\n")
    assert content_type.startswith("application/openmetrics-text")


@pytest.mark.parametrize(("code", "name"), [(105, "GET_ROUTEINFO_BY_TOPIC"), (-1, "OTHER"), (4711, "OTHER")])
def test_request_types_have_javas_names(code: int, name: str) -> None:
    assert request_type_name(code) == name


@pytest.mark.parametrize(("code", "name"), [(0, "success"), (17, "topic_not_exist"), (4711, "other")])
def test_results_have_names(code: int, name: str) -> None:
    assert result_name(code) == name


def test_refusals_by_access_rules_have_a_series_for_each_rule() -> None:
    got = scrape(FULL)

    assert got['rocketmq_namesrv_access_refusals_total{class="admin",mode="enforce",rule="operators"}'] == 3


def test_what_an_alert_may_ask_for_is_there_before_it_happens():
    """The first value of a counter is no increase: `rate()` would not see the first failure."""
    text, _ = render_metrics(structs.replace(EMPTY, requests={(105, 0): 0, (103, 0): 0}))
    for series in (
        'route_request_total{result="topic_not_exist"}',
        'requests_total{request_type="REGISTER_BROKER",result="system_error"}',
        'requests_total{request_type="OTHER",result="request_code_not_supported"}',
    ):
        assert f"rocketmq_namesrv_{series} 0.0\n".encode() in text


def test_every_outcome_of_a_registration_begins_at_0():
    text, _ = render_metrics(EMPTY)
    found = re.findall(rb'registration_events_total\{result="(\w+)"\} 0.0', text)
    page = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"
    rows = page.read_text().split("Results of a registration:")[1].split("##")[0]
    assert sorted(each.decode() for each in found) == sorted(re.findall(r"^\| `(\w+)`", rows, re.MULTILINE))


def test_durations_are_a_histogram_of_each_kind_of_request():
    slow = DurationStats(buckets=(0,) * 6 + (3, 2) + (0,) * 4 + (1,), seconds=4.5)
    got = scrape(structs.replace(EMPTY, durations={103: slow, 106: DurationStats()}))
    name, label = "rocketmq_namesrv_request_duration_seconds", 'request_type="REGISTER_BROKER"'
    counts = {bound: got[f'{name}_bucket{{le="{bound}",{label}}}'] for bound in (0.00025, 0.001, 2.5, "+Inf")}
    assert list(counts.values()) == [0, 3, 5, 6]
    assert got[f"{name}_count{{{label}}}"] == 6
    assert got[f"{name}_sum{{{label}}}"] == 4.5
    assert got[f'{name}_count{{request_type="GET_ROUTEINFO_BY_TOPIC"}}'] == 0
    assert "GET_BROKER_CLUSTER_INFO" not in got.text

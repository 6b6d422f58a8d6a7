"""`/metrics`: a snapshot of plain integers as Prometheus text.

Names are those of the Rust name server where the meaning is the same, so that its dashboards and alerts work.
All others follow Prometheus: base units, `_total` for counters. No label holds the name of a topic, a broker
or an address, so the number of series is fixed.
"""

import platform
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from shutil import disk_usage
from typing import NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from namekeeper.http.stats import (
    DURATION_BOUNDS,
    CertificateStats,
    DurationStats,
    JournalStats,
    NameServerStats,
)
from namekeeper.messages.catalogue import CATALOGUE
from namekeeper.wire.codes import RequestCode, ResponseCode

__all__ = ["NameServerCollector", "render_metrics", "request_type_name", "result_name"]

_PREFIX = "rocketmq_namesrv_"
_REQUEST_TYPES = {int(code): code.name for code in RequestCode}
_RESULTS = {int(code): code.name.lower() for code in ResponseCode}
_OTHER_REQUEST = "OTHER"
_OTHER_RESULT = "other"
_FIRST_RESULTS = ("success", "system_error")
"""Results whose counters exist from the start for every request: Prometheus does not count a first value as
an increase."""
_FIRST_RESULTS_OF = {
    **{entry.name: entry.absent.name.lower() for entry in CATALOGUE.values() if entry.absent is not None},
    _OTHER_REQUEST: "request_code_not_supported",
}
"""Further results of single requests."""
_FIRST_DURATIONS = tuple(code for code, entry in CATALOGUE.items() if entry.is_routine)
"""Requests whose durations are shown from the start."""
_REGISTRATIONS = ("new", "changed", "unchanged", "short_cut", "stale", "refused", "closed", "failed")
"""Outcomes of a registration; their counters exist from the start."""


class _Plain(NamedTuple):
    """A metric without labels: its value's attribute, its name, its description."""

    field: str
    name: str
    help: str


_GAUGES = (
    _Plain("active_brokers", "active_brokers", "Live registrations: broker processes, masters and slaves."),
    _Plain("broker_names", "broker_names", "Broker names with at least one member."),
    _Plain("clusters", "clusters", "Clusters with at least one broker name."),
    _Plain("topics", "topics", "Topics that have a route."),
    _Plain("unwritable_topics", "unwritable_topics", "Topics without a queue that a producer could use."),
    _Plain("missing_brokers", "missing_brokers", "Brokers that went without unregistering."),
    _Plain("missing_topics", "missing_topics", "Topics that went with them, and have no route."),
    _Plain("missing_since_seconds", "missing_since_seconds", "When the first of them went; 0: nobody."),
    _Plain("queue_rows", "queue_rows", "Topics of each broker name, added up."),
    _Plain("active_connections", "active_connections", "Open connections."),
    _Plain("tls_bytes", "tls_bytes", "Memory of TLS connections, as estimated."),
    _Plain("body_bytes_in_flight", "body_in_flight_bytes", "Bytes of large requests under way."),
    _Plain("change_queue_depth", "change_queue_depth", "Changes of the tables under way or waiting."),
    _Plain("loop_lag_max_seconds", "loop_lag_max_seconds", "Longest delay of the event loop lately."),
    _Plain("route_cache_bytes", "route_cache_bytes", "Memory of encoded routes."),
    _Plain("front_connections", "front_connections", "Open connections that the native front serves."),
    _Plain("start_time_seconds", "start_time_seconds", "When this name server began to serve."),
)  # fmt: skip

_COUNTERS = (
    _Plain("accepted_connections", "connections", "Connections that were accepted."),
    _Plain("refused_connections", "refused_connections", "Connections closed on arrival, by a limit."),
    _Plain("received_bytes", "received_bytes", "Bytes of requests."),
    _Plain("sent_bytes", "sent_bytes", "Bytes of answers."),
    _Plain("protocol_errors", "protocol_errors", "Connections closed because their bytes were no frame."),
    _Plain("rejected_connections", "rejected_connections", "Connections closed by their first bytes."),
    _Plain("tls_failures", "tls_failures", "TLS handshakes that failed, or found no certificate."),
    _Plain("http_tls_failures", "http_tls_failures", "The same at the operators' port."),
    _Plain("handler_errors", "handler_errors", "Requests answered with code 1 because of a bug."),
    _Plain("registration_body_bytes", "registration_body_bytes", "Bytes of registration bodies."),
    _Plain(
        "from_unknown_networks", "unknown_network_registrations", "New brokers outside of brokerNetworks."
    ),
    _Plain("kept_out", "protected_broker_refusals", "Requests that protectBrokerNames refused."),
    _Plain("heartbeats", "heartbeats", "Heartbeats and registrations that changed nothing."),
    _Plain("unregistrations", "unregistrations", "Registrations that ended by request."),
    _Plain("channel_close_removals", "channel_close_removals", "Registrations ended by a closed connection."),
    _Plain("dropped_log_lines", "dropped_log_lines", "Log lines that were dropped."),
    _Plain("cached_lookups", "cached_lookups", "Lookups answered by the bytes of their request."),
    _Plain("front_lookups", "front_lookups", "Those of them that the native front answered."),
    _Plain("front_loans", "front_loans", "How often a connection was handed to the native front."),
    _Plain("front_failures", "front_failures", "Connections lost by a failure of the native front."),
    _Plain("uncached_lookups", "uncached_lookups", "Lookups whose answer was not known: with a route."),
)  # fmt: skip

_JOURNAL_GAUGES = (
    _Plain("last_seq", "journal_last_seq", "Number of the newest record of this boot."),
    _Plain("durable_seq", "journal_durable_seq", "Number of the newest record that a crash can't take."),
    _Plain("queue_depth", "journal_queue_depth", "Changes that wait for the disk."),
    _Plain("disk_bytes", "journal_disk_bytes", "Size of the journal's folder."),
    _Plain("is_writable", "journal_writable", "1 while the journal can be written."),
)
_JOURNAL_COUNTERS = (
    _Plain("dropped_changes", "journal_dropped_changes", "Changes that found no room in the queue."),
    _Plain("dropped_records", "journal_dropped_records", "Records that the disk was too slow for."),
    _Plain("written_bytes", "journal_written_bytes", "Bytes written to the journal."),
)  # fmt: skip


class NameServerCollector(Collector):
    """Turns one snapshot into metric families."""

    def __init__(self, stats: NameServerStats) -> None:
        self._stats = stats

    def collect(self) -> Iterator[Metric]:
        """Yield every family."""
        stats = self._stats
        yield GaugeMetricFamily("rocketmq_nameserver_up", "1 while it answers.", value=1)
        yield _info(stats)
        yield GaugeMetricFamily(
            f"{_PREFIX}ready", "1 while clients should use it.", value=int(stats.is_ready)
        )
        yield _labelled_gauge(
            "degraded", "1 for each thing that is wrong now.", "reason", dict.fromkeys(stats.degraded, 1)
        )
        yield from _gauges(stats, _GAUGES)
        yield from _counters(stats, _COUNTERS)
        yield from _labelled_counters(stats)
        yield from _certificates(stats.certificates)
        if stats.journal is not None:
            yield from _gauges(stats.journal, _JOURNAL_GAUGES)
            yield from _counters(stats.journal, _JOURNAL_COUNTERS)
            yield from _free_bytes(stats.journal)


def render_metrics(stats: NameServerStats, accept: str = "") -> tuple[bytes, str]:
    """Return the text of all metrics, those of the process included, and its content type.

    Reads files of the operating system, so not on the event loop.
    """
    registry = CollectorRegistry()
    registry.register(NameServerCollector(stats))
    ProcessCollector(registry=registry)
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


def request_type_name(code: int) -> str:
    """Return Java's name of a request code, or the common name of all unknown ones."""
    return _REQUEST_TYPES.get(code, _OTHER_REQUEST)


def result_name(code: int) -> str:
    """Return the name of a response code in lower case, or the common name of all unknown ones."""
    return _RESULTS.get(code, _OTHER_RESULT)


def _info(stats: NameServerStats) -> Metric:
    family = GaugeMetricFamily(
        f"{_PREFIX}build_info", "What runs here.", labels=("version", "python", "event_loop", "front")
    )
    family.add_metric((stats.version, platform.python_version(), stats.event_loop, stats.front), 1)
    return family


def _gauges(values: NameServerStats | JournalStats, metrics: Iterable[_Plain]) -> Iterator[Metric]:
    for metric in metrics:
        yield GaugeMetricFamily(_PREFIX + metric.name, metric.help, value=getattr(values, metric.field))


def _free_bytes(journal: JournalStats) -> Iterator[Metric]:
    """Free bytes on the journal's disk; no sample while the folder can't be read."""
    try:
        free = disk_usage(journal.folder).free
    except OSError:
        return
    yield GaugeMetricFamily(
        f"{_PREFIX}journal_free_bytes", "Space left on the disk of the journal.", value=free
    )


def _counters(values: NameServerStats | JournalStats, metrics: Iterable[_Plain]) -> Iterator[Metric]:
    for metric in metrics:
        yield CounterMetricFamily(_PREFIX + metric.name, metric.help, value=getattr(values, metric.field))


def _labelled_counters(stats: NameServerStats) -> Iterator[Metric]:
    requests = CounterMetricFamily(
        f"{_PREFIX}requests", "Requests by code and answer.", labels=("request_type", "result")
    )
    routes = CounterMetricFamily(f"{_PREFIX}route_request", "Route lookups by answer.", labels=("result",))
    for (request_type, result), count in sorted(_named_requests(stats.requests).items()):
        requests.add_metric((request_type, result), count)
        if request_type == RequestCode.GET_ROUTEINFO_BY_TOPIC.name:
            routes.add_metric((result,), count)
    yield requests
    yield routes
    yield _durations(stats.durations)
    yield _refused(stats)
    yield _labelled_counter(
        "registration_events",
        "Registrations by what came of them.",
        "result",
        {**dict.fromkeys(_REGISTRATIONS, 0), **stats.registrations},
    )
    yield _labelled_counter(
        "expiry_events", "Expiries of registrations.", "result", {"expired": stats.expiries}
    )
    yield _labelled_counter(
        "channel_closes", "Connections that closed, by reason.", "reason", stats.closed_channels
    )
    yield _labelled_counter(
        "closed_broker_channels",
        "Registrations ended by a closed connection, by who closed it.",
        "closed_by",
        stats.closed_broker_channels,
    )
    yield _labelled_gauge(
        "fingerprint", "One number for all rows of a part of the tables.", "part", stats.fingerprints
    )
    yield _labelled_gauge(
        "kv_generation", "Changes of the KV configuration.", "state", {"current": stats.kv_generation}
    )


def _certificates(certificates: Mapping[str, CertificateStats]) -> Iterator[Metric]:
    """Yield the metrics of the certificate of each port that speaks TLS."""
    usable = GaugeMetricFamily(
        f"{_PREFIX}tls_usable", "1 while peers that speak TLS can be served.", labels=("port",)
    )
    expiry = GaugeMetricFamily(
        f"{_PREFIX}tls_certificate_not_after_seconds",
        "When the certificate in use expires, in seconds since 1970.",
        labels=("port",),
    )
    loads = CounterMetricFamily(
        f"{_PREFIX}tls_reloads", "New certificates by what came of them.", labels=("port", "result")
    )
    for port, found in sorted(certificates.items()):
        usable.add_metric((port,), int(found.is_usable))
        if found.not_after_seconds is not None:
            expiry.add_metric((port,), found.not_after_seconds)
        loads.add_metric((port, "loaded"), found.reloads)
        loads.add_metric((port, "failed"), found.failed_reloads)
    yield from (usable, expiry, loads)


def _durations(durations: Mapping[int, DurationStats]) -> Metric:
    family = HistogramMetricFamily(
        f"{_PREFIX}request_duration_seconds", "Time until the answer.", labels=("request_type",)
    )
    first = {int(code): DurationStats() for code in _FIRST_DURATIONS}
    for code, stats in sorted({**first, **durations}.items()):
        if code in first or any(stats.buckets):
            bounds = [*map(str, DURATION_BOUNDS), "+Inf"]
            counts = accumulate(stats.buckets)
            family.add_metric(
                (request_type_name(code),), list(zip(bounds, counts, strict=True)), stats.seconds
            )
    return family


def _refused(stats: NameServerStats) -> Metric:
    family = CounterMetricFamily(
        f"{_PREFIX}access_refusals", "Requests that access rules refuse.", labels=("class", "rule", "mode")
    )
    for labels, count in sorted(stats.refused.items()):
        family.add_metric(labels, count)
    return family


def _named_requests(requests: Mapping[tuple[int, int], int]) -> dict[tuple[str, str], int]:
    types = [request_type_name(request) for request, _ in requests]
    named = dict.fromkeys(((name, result) for name in types for result in _FIRST_RESULTS), 0)
    named.update(dict.fromkeys(_FIRST_RESULTS_OF.items(), 0))
    for (request, response), count in requests.items():
        key = request_type_name(request), result_name(response)
        named[key] = named.get(key, 0) + count
    return named


def _labelled_counter(name: str, text: str, label: str, values: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(_PREFIX + name, text, labels=(label,))
    for value, count in sorted(values.items()):
        family.add_metric((value,), count)
    return family


def _labelled_gauge(name: str, text: str, label: str, values: Mapping[str, int]) -> Metric:
    family = GaugeMetricFamily(_PREFIX + name, text, labels=(label,))
    for value, number in sorted(values.items()):
        family.add_metric((value,), number)
    return family

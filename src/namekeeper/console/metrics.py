"""`/metrics` of the page, as Prometheus text: drift and open incidents of the name servers that it shows.

No label holds the name of a broker, a topic or a name server, so the number of series is fixed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.drift.report import DriftReport
from namekeeper.drift.shadow import ShadowReport, ShadowState
from namekeeper.notifications.incident_facts import SeenIncident

__all__ = ["DriftCollector", "IncidentCollector", "ShadowCollector", "render_metrics"]

_PREFIX = "namekeeper_drift_"


class DriftCollector(Collector):
    """Turns the present drift into metric families."""

    def __init__(self, report: DriftReport) -> None:
        self._report = report

    def collect(self) -> Iterator[Metric]:
        """Yield every family."""
        report = self._report
        verdicts = GaugeMetricFamily(
            f"{_PREFIX}verdicts", "Verdicts on what name servers disagree about.", labels=("kind",)
        )
        for kind, count in report.counts().items():
            verdicts.add_metric((kind,), count)
        yield verdicts
        oldest = min((each.since for each in report.verdicts), default=0)
        yield GaugeMetricFamily(
            f"{_PREFIX}since_seconds",
            "When the oldest of them began; 0: there is none.",
            value=oldest / 1_000,
        )
        yield GaugeMetricFamily(
            f"{_PREFIX}unsettled", "Differences that may be a change on its way.", value=report.unsettled
        )
        servers = GaugeMetricFamily(
            f"{_PREFIX}name_servers", "Name servers, by whether they are compared.", labels=("state",)
        )
        states = {"compared": 0, "alone": 0, "unknown": 0}
        for each in report.name_servers:
            states["compared" if each.compared_with else "unknown" if each.why_not else "alone"] += 1
        for state, count in states.items():
            servers.add_metric((state,), count)
        yield servers


class IncidentCollector(Collector):
    """Turns the open incidents into a metric family.

    Args:
        incidents: those that are open.
        labels: id of each name server -> label of its cluster, which operators chose; empty: none.
    """

    def __init__(self, incidents: Iterable[SeenIncident], labels: Mapping[str, str]) -> None:
        self._incidents, self._labels = incidents, labels

    def collect(self) -> Iterator[Metric]:
        """Yield the family; each kind is there for each cluster, also if nothing is wrong."""
        counts = {
            (kind, label): 0 for label in sorted({*self._labels.values()} or {""}) for kind in IncidentKind
        }
        for each in self._incidents:
            if each.incident.planned:
                continue
            label = next(filter(None, (self._labels.get(name) for name in each.namesrvs)), "")
            counts[each.incident.kind, label] = counts.get((each.incident.kind, label), 0) + 1
        family = GaugeMetricFamily(
            "namekeeper_incidents_open",
            "Incidents that are open and not planned.",
            labels=("kind", "cluster"),
        )
        for (kind, label), count in counts.items():
            family.add_metric((kind, label), count)
        yield family


class ShadowCollector(Collector):
    """Turns the comparison of each shadow into metric families; without a shadow there are none."""

    def __init__(self, reports: Sequence[ShadowReport]) -> None:
        self._reports = reports

    def collect(self) -> Iterator[Metric]:
        """Yield every family."""
        if not self._reports:
            return
        prefix = "namekeeper_shadow_"
        numbers: Mapping[str, tuple[str, Callable[[ShadowReport], float]]] = {
            "compared": ("1: the shadow is compared now.", lambda one: one.state is not ShadowState.UNKNOWN),
            "equal_seconds": ("How long nothing has differed; 0: it does.", lambda one: one.equal_ms / 1_000),
            "differences": ("Verdicts on what differs now.", lambda one: len(one.differences)),
            "changes": ("Changes that it and another name server have seen since.", lambda one: one.changes),
        }
        for name, (about, number_of) in numbers.items():
            family = GaugeMetricFamily(f"{prefix}{name}", about, labels=("cluster",))
            for each in self._reports:
                family.add_metric((each.cluster_label,), number_of(each))
            yield family
        brokers = GaugeMetricFamily(
            f"{prefix}brokers",
            "Brokers, by whether they register with the shadow.",
            labels=("cluster", "state"),
        )
        for each in self._reports:
            brokers.add_metric((each.cluster_label, "registered"), each.brokers)
            brokers.add_metric((each.cluster_label, "not_registered"), len(each.not_registered))
        yield brokers


def render_metrics(collectors: Iterable[Collector], accept: str = "") -> tuple[bytes, str]:
    """Return the text of the metrics, those of the process included, and its content type.

    Reads files of the operating system, so not on the event loop.
    """
    registry = CollectorRegistry()
    for each in collectors:
        registry.register(each)
    ProcessCollector(registry=registry)
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type

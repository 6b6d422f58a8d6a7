"""The state of an observer as reasons for probes, metrics for Prometheus, and lines about its disk.

No label holds the name of a name server, so the number of series is fixed.
"""

from collections.abc import Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from namekeeper.common.counts import shown_list
from namekeeper.common.durations import shown_duration
from namekeeper.observe.observer import ObserverState, ObserverStatus

__all__ = ["ObserverCollector", "TroubleLines", "reasons_of"]

_PREFIX = "namekeeper_observe"
_WINDOWS = {"brokers": "members_ms", "topics": "topics_ms", "queues": "queues_ms"}
_WITHOUT = (ObserverState.CONNECTING, ObserverState.NOT_OBSERVED)
"""States in which nothing is known of a name server."""


def reasons_of(
    statuses: Mapping[str, ObserverStatus], undiscovered: Mapping[str, str], shadows: Mapping[str, str]
) -> dict[str, str]:
    """The present problems for `/readyz`: short name -> a sentence.

    Args:
        statuses: id of each name server -> its status.
        undiscovered: name in the DNS -> why its addresses are not known.
        shadows: id of each shadow that does not serve -> why.
    """
    lines = {
        "recording": [f"{id_}: {trouble}" for id_, trouble in _troubles(statuses).items()],
        "observed": [
            f"{id_}: {each.state}: {each.reason}"
            for id_, each in statuses.items()
            if each.state in _WITHOUT and each.reason
        ],
        "sweep": [
            f"{id_}: queues of a topic were last read {shown_duration(round(each.oldest_ms, -3))} ago,"
            f" and the longest window is {shown_duration(each.windows.queues_ms)}"
            for id_, each in statuses.items()
            if each.is_sweep_late
        ],
        "discovery": [*undiscovered.values()],
        "shadow": [f"{id_}: {why}" for id_, why in shadows.items()],
    }
    return {name: shown_list(some) for name, some in lines.items() if some}


class ObserverCollector(Collector):
    """Turns the status of each name server into metric families.

    Args:
        statuses: id of each name server -> its status.
    """

    def __init__(self, statuses: Mapping[str, ObserverStatus]) -> None:
        self._statuses = statuses

    def collect(self) -> Iterator[Metric]:
        """Yield every family."""
        every = [*self._statuses.values()]
        servers = GaugeMetricFamily(
            f"{_PREFIX}_name_servers", "Name servers that are asked, by state.", labels=("state",)
        )
        for state in ObserverState:
            servers.add_metric((state.replace(" ", "_"),), sum(each.state is state for each in every))
        yield servers
        yield GaugeMetricFamily(
            f"{_PREFIX}_not_recording",
            "Name servers whose changes can't be written now.",
            value=len(_troubles(self._statuses)),
        )
        windows = GaugeMetricFamily(
            f"{_PREFIX}_window_seconds",
            "Longest window of a change, of all name servers.",
            labels=("change",),
        )
        for change, field in _WINDOWS.items():
            longest = max((getattr(each.windows, field) for each in every), default=0)
            windows.add_metric((change,), longest / 1_000)
        yield windows
        yield GaugeMetricFamily(
            f"{_PREFIX}_oldest_queues_seconds",
            "How long ago the queues were read that are next, of all name servers.",
            value=max((each.oldest_ms for each in every), default=0) / 1_000,
        )


class TroubleLines:
    """The lines about journals that can't be written and logs that can't be read, and that can be again."""

    def __init__(self) -> None:
        self._said: dict[str, dict[str, str]] = {}

    def of(self, statuses: Mapping[str, ObserverStatus]) -> list[str]:
        """The lines that were not said yet."""
        recording = self._new_lines(statuses, "recording", _troubles(statuses))
        return [*recording, *self._new_lines(statuses, "reading causes", _log_troubles(statuses))]

    def _new_lines(
        self, statuses: Mapping[str, ObserverStatus], what: str, found: Mapping[str, str]
    ) -> Iterator[str]:
        said = self._said.get(what, {})
        yield from (f"{id_}: not {what}: {why}" for id_, why in found.items() if said.get(id_) != why)
        yield from (f"{id_}: {what} again" for id_ in said.keys() & statuses.keys() - found.keys())
        self._said[what] = dict(found)


def _log_troubles(statuses: Mapping[str, ObserverStatus]) -> dict[str, str]:
    """Id of each name server whose log can't be read -> why."""
    return {
        id_: each.log.trouble for id_, each in statuses.items() if each.log is not None and each.log.trouble
    }


def _troubles(statuses: Mapping[str, ObserverStatus]) -> dict[str, str]:
    """Id of each name server whose changes can't be written -> why."""
    return {
        id_: each.journal.trouble
        for id_, each in statuses.items()
        if each.journal is not None and each.journal.trouble
    }

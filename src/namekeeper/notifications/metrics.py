"""Messages as Prometheus metrics, by receiver: operators choose the names of receivers, in their file."""

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from namekeeper.notifications.outbox import ReceiverState

__all__ = ["MessagesCollector"]

_PREFIX = "namekeeper_messages_"
_LABELS = ("receiver",)


class MessagesCollector(Collector):
    """Turns the states of receivers into metric families.

    Args:
        receivers: name -> what was sent, and what waits.
    """

    def __init__(self, receivers: Mapping[str, ReceiverState]) -> None:
        self._receivers = receivers

    def collect(self) -> Iterator[Metric]:
        """Yield every family."""
        sent = CounterMetricFamily(f"{_PREFIX}sent", "Messages that were acknowledged.", labels=_LABELS)
        given_up = CounterMetricFamily(f"{_PREFIX}given_up", "Messages that were given up.", labels=_LABELS)
        failing = GaugeMetricFamily(
            f"{_PREFIX}failing", "1 while the last attempt to send has failed.", labels=_LABELS
        )
        waiting = GaugeMetricFamily(
            f"{_PREFIX}waiting", "Incidents that opened or closed, and are not acknowledged.", labels=_LABELS
        )
        for name, state in self._receivers.items():
            in_sending = 0 if state.sending is None else len(state.sending.message.events)
            sent.add_metric((name,), state.acknowledged)
            given_up.add_metric((name,), state.given_up)
            failing.add_metric((name,), bool(state.problem))
            waiting.add_metric((name,), len(state.waiting) + in_sending)
        yield from (sent, given_up, failing, waiting)

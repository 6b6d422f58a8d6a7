"""When each broker was last heard, as far as the records of one boot say.

Times are monotonic ms since the boot began, so a step of the wall clock changes nothing. The time of a
restored broker may be negative: it was last heard before the boot.
"""

from namekeeper.journal.contract.activity import BrokerMinute
from namekeeper.journal.contract.record import BrokerLive, CheckpointBegin, ClockChanged
from namekeeper.journal.reading.history import AnyRecord
from namekeeper.model.broker import BrokerKey

__all__ = ["LastHeard"]


class LastHeard:
    """Follows the records of one boot in the order of their seq."""

    def __init__(self) -> None:
        self.up_ms: dict[BrokerKey, int] = {}
        """Broker -> when it was last heard; without brokers whose records do not say it."""
        self._checkpoint_up_ms = 0
        self._stepped_up_ms: int | None = None

    def take(self, record: AnyRecord) -> None:
        """Follow one record."""
        if isinstance(record, BrokerMinute):
            self._take_minute(record)
        elif isinstance(record, BrokerLive):
            self._take_live(record)
        elif isinstance(record, CheckpointBegin):
            self._checkpoint_up_ms = record.up_ms
        elif isinstance(record, ClockChanged):
            # After a step back by n ms, a wall time from before it may look up to n ms too late. Several
            # steps add up.
            self._stepped_up_ms = max(record.up_ms, self._stepped_up_ms or 0) + max(0, -record.step_ms)

    def _take_live(self, record: BrokerLive) -> None:
        if record.gone:
            return
        if not record.checkpoint:
            self._note(record, record.up_ms - record.idle_ms)
        elif record.idle_ms:  # else an older version wrote the checkpoint
            self._note(record, self._checkpoint_up_ms - record.idle_ms)

    def _take_minute(self, record: BrokerMinute) -> None:
        """Ignore `last_seen`, a time of the wall clock, if the clock made a step since then."""
        heard_up_ms = record.up_ms - (record.ts - record.last_seen)
        stepped = self._stepped_up_ms
        if heard_up_ms <= record.up_ms and (stepped is None or stepped < heard_up_ms):
            self._note(record, heard_up_ms)

    def _note(self, record: BrokerLive | BrokerMinute, heard_up_ms: int) -> None:
        key = (record.cluster, record.broker_addr)
        self.up_ms[key] = max(heard_up_ms, self.up_ms.get(key, heard_up_ms))

"""The outbox: for each receiver the messages that wait, and the one that goes out.

All methods are pure: they change the state and return values. The state is saved after each change, so that a
process that is killed goes on where it was. A receiver gets one message at a time. It is repeated unchanged
until it is acknowledged, so that an incident never closes before it opened.
"""

import hashlib
from enum import StrEnum

import msgspec
from msgspec import Struct, structs

from namekeeper.answers.times import iso_text
from namekeeper.notifications.message import EVENTS_LIMIT, EventKind, IncidentEvent, Message, link_of
from namekeeper.notifications.receivers import (
    IncidentSeverity,
    NotificationSettings,
    Receiver,
    is_wanted,
    severity_of,
)
from namekeeper.notifications.tracking import TrackedIncident, Tracking

__all__ = [
    "KEEP_MS",
    "LONGEST_PAUSE_MS",
    "REFUSALS_LIMIT",
    "AttemptEnd",
    "AttemptOutcome",
    "Outbox",
    "QueuedEvent",
    "ReceiverState",
    "SendingMessage",
]

KEEP_MS = 24 * 60 * 60 * 1_000
"""A message that was not acknowledged within this time after its first attempt is given up."""
REFUSALS_LIMIT = 5
"""A message that a receiver refused so often is given up: it would refuse it for ever."""
FIRST_PAUSE_MS = 1_000
LONGEST_PAUSE_MS = 60_000
"""Pauses between attempts begin with one second, and double up to this."""
LONGEST_WISH_MS = 60 * 60 * 1_000
"""Longest pause that a receiver may ask for."""
FOLDED_FROM = 4
"""So many incidents that wait for one receiver become one message."""
FIRST_CLOSED = 2
"""Sequence number of the first closing of an incident."""
MINUTE_MS = 60_000


class AttemptEnd(StrEnum):
    """How an attempt ended."""

    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"
    """The message may arrive later: the receiver can't be reached, or has a problem."""
    REFUSED = "refused"
    """The receiver does not accept this message."""


class AttemptOutcome(Struct, frozen=True):
    """How an attempt ended, and why."""

    kind: AttemptEnd
    reason: str = ""
    """Without addresses and secrets; empty: acknowledged."""
    retry_after_ms: int | None = None
    """The pause that the receiver asked for."""


class QueuedEvent(Struct, frozen=True):
    """An event that waits for its message."""

    incident: str
    sequence: int
    """Odd: opened; even: closed."""

    @property
    def event(self) -> EventKind:
        """The kind of the event."""
        return EventKind.OPENED if self.sequence % 2 else EventKind.CLOSED


class SendingMessage(Struct, kw_only=True):
    """A message from its first attempt until it is acknowledged or given up."""

    message: Message
    began: int
    """Wall ms of the first attempt."""
    attempts: int = 0
    """Attempts that have ended."""
    refusals: int = 0


class ReceiverState(Struct, kw_only=True):
    """The part of the outbox for one receiver."""

    since: int
    """The last instant that was known when the receiver was new, wall ms: what was over then is not sent."""
    sequences: dict[str, int] = {}
    """Incident -> sequence number of its last event."""
    waiting: list[QueuedEvent] = []
    sending: SendingMessage | None = None
    retry_at: int = 0
    """No attempt before it, wall ms."""
    problem: str = ""
    """How the last attempt failed; empty: it did not."""
    sent_at: list[int] = []
    """Wall ms of the messages of the last minute."""
    acknowledged: int = 0
    """Messages that were acknowledged."""
    given_up: int = 0
    """Messages that were given up."""
    messages: int = 0
    """Messages that were made."""
    withheld: list[str] = []
    """Incidents whose opening was given up: nothing more is sent of them."""


class Outbox(Struct, kw_only=True):
    """Incidents, and the messages about them."""

    version: int = 1
    tracking: Tracking = msgspec.field(default_factory=Tracking)
    receivers: dict[str, ReceiverState] = {}

    @property
    def is_consistent(self) -> bool:
        """Whether each event that waits is of an incident that is here: the file may be somebody else's."""
        waiting = {each.incident for state in self.receivers.values() for each in state.waiting}
        return waiting <= self.tracking.incidents.keys()

    def plan(self, settings: NotificationSettings, now: int) -> bool:
        """Decide what each receiver has to be sent; returns whether anything changed.

        Args:
            settings: who gets what.
            now: wall ms.
        """
        if self.tracking.up_to is None:
            return False
        has_changed = self._take_receivers(settings)
        severities = settings.severities
        for tracked in self.tracking.incidents.values():
            severity = severity_of(tracked.facts, severities)
            for receiver in settings.receivers:
                state = self.receivers[receiver.name]
                has_changed |= _plan(state, receiver, tracked, severity, now)
        self.tracking.forget(now, self._needed().__contains__)
        for state in self.receivers.values():
            for id_ in state.sequences.keys() - self.tracking.incidents.keys():
                del state.sequences[id_]
            state.withheld = [id_ for id_ in state.withheld if id_ in self.tracking.incidents]
        return has_changed

    def next_message(self, receiver: Receiver, settings: NotificationSettings, now: int) -> Message | None:
        """The message to send now: one that has to be repeated, or a new one; None: none yet.

        Args:
            receiver: who gets it.
            settings: for the page, the zone and severities.
            now: wall ms.
        """
        state = self.receivers.get(receiver.name)
        if state is None or now < state.retry_at <= now + LONGEST_WISH_MS:
            return None
        if state.sending is None:
            state.sent_at = [at for at in state.sent_at if now - MINUTE_MS < at <= now]
            if len(state.sent_at) >= receiver.most_per_minute:
                return None
            entries = self._ready(state, receiver, settings, now)
            if not entries:
                return None
            self._start(state, receiver, settings, entries, now)
        assert state.sending is not None
        return state.sending.message

    def finish(self, receiver: str, outcome: AttemptOutcome, now: int) -> bool:
        """Note how an attempt ended; returns whether the message is given up.

        Args:
            receiver: its name.
            outcome: of the attempt.
            now: wall ms.
        """
        state = self.receivers[receiver]
        sending = state.sending
        assert sending is not None
        sending.attempts += 1
        if outcome.kind is AttemptEnd.ACKNOWLEDGED:
            state.sending, state.problem, state.retry_at = None, "", 0
            state.acknowledged += 1
            return False
        state.problem = outcome.reason
        state.retry_at = now + _pause_ms(sending.attempts, outcome.retry_after_ms)
        sending.refusals += outcome.kind is AttemptEnd.REFUSED
        if sending.refusals < REFUSALS_LIMIT and now < sending.began + KEEP_MS:
            return False
        self._give_up(state, sending)
        return True

    def _take_receivers(self, settings: NotificationSettings) -> bool:
        """Begin with new receivers, and forget those that are gone."""
        names = [each.name for each in settings.receivers]
        new = [name for name in names if name not in self.receivers]
        gone = self.receivers.keys() - set(names)
        for name in gone:
            del self.receivers[name]
        for name in new:
            self.receivers[name] = ReceiverState(since=self.tracking.up_to or 0)
        return bool(new or gone)

    def _needed(self) -> set[str]:
        """The incidents whose closing has to be sent; of a message that is being sent there is a copy."""
        needed: set[str] = set()
        for state in self.receivers.values():
            needed.update(each.incident for each in state.waiting)
            needed.update(id_ for id_, last in state.sequences.items() if last % 2)
            needed.difference_update(state.withheld)
        return needed

    def _ready(
        self, state: ReceiverState, receiver: Receiver, settings: NotificationSettings, now: int
    ) -> list[QueuedEvent]:
        """The entries of the next message."""
        is_quiet = receiver.quiet is not None and receiver.quiet.has(now, settings.zone)
        ready: list[QueuedEvent] = []
        held: set[str] = set()
        for each in state.waiting:
            severity = severity_of(self.tracking.incidents[each.incident].facts, settings.severities)
            if each.incident in held or (is_quiet and severity.rank < receiver.quiet_below.rank):
                held.add(each.incident)
            else:
                ready.append(each)
        if len({each.incident for each in ready}) >= FOLDED_FROM:
            return ready[:EVENTS_LIMIT]
        return [each for each in ready if each.incident == ready[0].incident]

    def _start(
        self,
        state: ReceiverState,
        receiver: Receiver,
        settings: NotificationSettings,
        entries: list[QueuedEvent],
        now: int,
    ) -> None:
        state.messages += 1
        first = entries[0]
        id_ = hashlib.sha256(f"{receiver.name}\0{first.incident}\0{first.sequence}".encode()).hexdigest()[:16]
        events = [self._event(each, settings) for each in entries]
        message = Message(
            message=id_, receiver=receiver.name, created=iso_text(now), page=settings.page, events=events
        )
        state.sending = SendingMessage(message=message, began=now)
        taken = set(entries)
        state.waiting = [each for each in state.waiting if each not in taken]
        state.sent_at.append(now)

    def _event(self, entry: QueuedEvent, settings: NotificationSettings) -> IncidentEvent:
        facts = self.tracking.incidents[entry.incident].facts
        severity = severity_of(facts, settings.severities)
        if entry.event is EventKind.OPENED:
            facts = structs.replace(facts, to_ts=None, is_forgotten=False, is_withdrawn=False)
        return IncidentEvent(
            event=entry.event,
            incident=entry.incident,
            sequence=entry.sequence,
            severity=severity,
            link=link_of(settings.page, entry.incident, facts.from_ts),
            facts=facts,
        )

    def _give_up(self, state: ReceiverState, sending: SendingMessage) -> None:
        state.sending = None
        state.given_up += 1
        lost = {each.incident for each in sending.message.events if each.event is EventKind.OPENED}
        state.withheld += sorted(lost - set(state.withheld))
        state.waiting = [each for each in state.waiting if each.incident not in lost]


def _plan(
    state: ReceiverState, receiver: Receiver, tracked: TrackedIncident, severity: IncidentSeverity, now: int
) -> bool:
    """Queue the events of one incident for one receiver; returns whether there are any."""
    if tracked.id in state.withheld:
        return False
    last = state.sequences.get(tracked.id, 0)
    if tracked.facts.planned and last % 2 == 0:
        return False  # an end is sent, if the opening was
    if not last:
        return is_wanted(receiver, tracked.facts, severity) and _plan_first(state, receiver, tracked, now)
    if (last % 2 == 1) == tracked.is_open or now < tracked.changed + receiver.grace_ms:
        return False
    _queue(state, tracked.id, last + 1)
    return True


def _plan_first(state: ReceiverState, receiver: Receiver, tracked: TrackedIncident, now: int) -> bool:
    facts = tracked.facts
    if facts.to_ts is None:
        if now < min(tracked.first_seen, facts.from_ts) + receiver.grace_ms:
            return False
        _queue(state, tracked.id, 1)
        return True
    if facts.to_ts <= state.since or facts.to_ts - facts.from_ts < receiver.grace_ms:
        return False
    _queue(state, tracked.id, 1)
    _queue(state, tracked.id, FIRST_CLOSED)
    return True


def _queue(state: ReceiverState, incident: str, sequence: int) -> None:
    """Let an event wait; one that undoes an event that still waits removes that instead, but the first."""
    undone = QueuedEvent(incident, sequence - 1)
    if sequence > FIRST_CLOSED and undone in state.waiting:
        state.waiting.remove(undone)
        state.sequences[incident] = sequence - 2
        return
    state.waiting.append(QueuedEvent(incident, sequence))
    state.sequences[incident] = sequence


def _pause_ms(attempts: int, wish_ms: int | None) -> int:
    usual = min(FIRST_PAUSE_MS << min(attempts - 1, 10), LONGEST_PAUSE_MS)
    return max(usual, min(wish_ms or 0, LONGEST_WISH_MS))

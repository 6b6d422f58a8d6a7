"""Counts the brokers that had registered again after a start; each does so in its next period."""

from msgspec import Struct

from namekeeper.answers.evidence import BrokerSession, Evidence

__all__ = ["BrokersBack", "brokers_back"]


class BrokersBack(Struct, frozen=True):
    """The brokers that had registered again at a time."""

    began: int
    """Start of the name server, wall ms."""
    after_ms: int
    """Milliseconds from the start to the time in question."""
    known: int
    """Brokers that were live when the boot before ended."""
    back: int
    """Number of these brokers that had registered again."""
    restored: int
    """Number of the other brokers that were restored and still there."""
    sessions: list[BrokerSession]
    """All registrations of this boot up to that time."""
    only_its_brokers: bool = False
    """Whether brokers that never had the topic are not counted."""


def brokers_back(evidence: Evidence, at: int, began: int) -> BrokersBack:
    """Compare with the sessions that the end of the boot before interrupted.

    Args:
        evidence: of one name server.
        at: the time in question.
        began: when its boot began.
    """
    known = {(s.cluster, s.broker_addr) for s in _live_at_end(evidence, began)}
    sessions = [s for s in evidence.sessions if began <= s.valid_from <= at]
    back = known & {(s.cluster, s.broker_addr) for s in sessions if not s.is_restored}
    restored = {(s.cluster, s.broker_addr) for s in sessions if s.is_restored and s.is_valid(at)}
    return BrokersBack(
        began,
        at - began,
        len(known),
        len(back),
        len(known & restored - back),
        sessions,
        evidence.only_its_brokers,
    )


def _live_at_end(evidence: Evidence, began: int) -> list[BrokerSession]:
    """The sessions that the end of the boot before interrupted; a loss within that boot is not its end."""
    before = [s for s in evidence.sessions if s.has_ended(began) and s.ended_by in {"stopped", "unknown"}]
    boot = max((session.boot for session in before), default=0)
    end = max((s.valid_to or 0 for s in before if s.boot == boot), default=0)
    if any(p.boot == boot and (p.valid_to is None or p.valid_to > end) for p in evidence.periods):
        return []  # it was known again, and nobody was live
    return [session for session in before if session.boot == boot and session.valid_to == end]

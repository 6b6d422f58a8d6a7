"""Who was back after a name server started: brokers come one by one, with their next registration."""

from msgspec import Struct

from namekeeper.answers.evidence import BrokerSession, Evidence

__all__ = ["Return", "return_of"]


class Return(Struct, frozen=True):
    """How far brokers had come back at an instant."""

    began: int
    """When the name server started, wall ms."""
    after_ms: int
    """How long after that the instant is."""
    known: int
    """Brokers that were live when the boot before ended."""
    back: int
    """Those of them that had registered again."""
    sessions: list[BrokerSession]
    """Every registration of this boot up to the instant."""


def return_of(evidence: Evidence, at: int, began: int) -> Return:
    """Judge by the sessions that the end of the boot before cut off.

    Args:
        evidence: of one name server.
        at: the instant.
        began: when the boot that it belongs to began.
    """
    before = [s for s in evidence.sessions if s.has_ended(began) and s.ended_by in {"stopped", "unknown"}]
    newest = max((session.boot for session in before), default=0)
    known = {(s.cluster, s.broker_addr) for s in before if s.boot == newest}
    sessions = [s for s in evidence.sessions if began <= s.valid_from <= at]
    back = known & {(session.cluster, session.broker_addr) for session in sessions}
    return Return(began, at - began, len(known), len(back), sessions)

"""Rows of evidence in words."""

from namekeeper.answers.evidence import BrokerSession, Evidence, TopicRoute
from namekeeper.common.durations import shown_duration
from namekeeper.model.perm import format_perm

__all__ = ["ENDS", "by", "dropped_by_broker", "how_it_ended", "made_so", "queues", "session_behind"]

ENDS = {
    "expired": "expired",
    "unregister_broker": "was unregistered",
    "channel_closed": "lost its connection",
    "replaced": "was replaced by another address or name",
    "stale_registration": "was refused as stale",
}
"""Why a registration ended -> what to say of its broker."""

_MADE = {
    "": "as a checkpoint found it",
    "register_broker": "registered",
    "register_topic": "registered by hand",
    "wipe_write_perm": "write permission wiped",
    "add_write_perm": "write permission added",
    **{cause: f"not to be written to since its master {how}" for cause, how in ENDS.items()},
}


def session_behind(one: Evidence, route: TopicRoute) -> BrokerSession | None:
    """The registration that ended in the moment in which a row did."""
    for session in one.sessions:
        if session.broker_name == route.broker_name and session.valid_to == route.valid_to and session.reason:
            return session
    return None


def dropped_by_broker(route: TopicRoute) -> bool:
    """Whether its broker lives on and registered without the topic."""
    return route.to_cause == "register_broker" and route.reason is None


def how_it_ended(one: Evidence, route: TopicRoute) -> str:
    """Why a row is no more."""
    name = route.broker_name
    if route.ended_by in {"unknown", "checkpoint"}:
        return f"{name} had it until records were lost"
    if route.to_cause == "delete_topic":
        return f"deleted on {name}{by(route.to_peer)}"
    if dropped_by_broker(route):
        return f"{name} registered without it{by(route.to_peer)}"
    session = session_behind(one, route)
    if session is None:
        return f"{name} {ENDS.get(route.to_cause or '', 'is gone')}{by(route.to_peer)}"
    how = ENDS.get(session.reason or "", "is gone")
    idle = f", {shown_duration(session.idle_ms or 0)} after its last sign of life"
    return f"{name} ({session.broker_addr}) {how}{by(session.to_peer)}{idle}"


def made_so(route: TopicRoute) -> str:
    """What a row says, and who made it so."""
    cause = route.from_cause or ""
    return f"{queues(route)}, {_MADE.get(cause, cause)}{by(route.from_peer)}"


def queues(route: TopicRoute) -> str:
    """What a row says."""
    return (
        f"{route.broker_name}: {route.read_queue_nums} read and {route.write_queue_nums} write queues,"
        f" {format_perm(route.perm)}"
    )


def by(peer: str | None) -> str:
    """Who asked for it."""
    return "" if peer is None else f" by {peer}"

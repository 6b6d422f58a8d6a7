"""Phrases about rows of evidence."""

from namekeeper.answers.evidence import BrokerSession, Evidence, TopicRoute
from namekeeper.common.durations import shown_duration
from namekeeper.model.perm import format_perm

__all__ = [
    "CLOSED_BY",
    "ENDS",
    "by",
    "caused_by",
    "end_of_row",
    "end_of_session",
    "ended",
    "queues",
    "session_ended_with",
    "unconfirmed",
    "vanished",
    "was_dropped_by_broker",
    "with_cause",
]

ENDS = {
    "expired": "expired",
    "unregister_broker": "was unregistered",
    "channel_closed": "lost its connection",
    "replaced": "was replaced by another address or name",
    "stale_registration": "was refused as stale",
}
"""Why a registration ended -> phrase about its broker."""
CLOSED_BY = {
    "peer": "the peer closed it",
    "reset": "it was reset",
    "idle": "the name server closed it, because it was idle",
    "limit": "the name server closed it, because of a limit",
    "protocol_error": "the name server closed it, because its bytes were no frame",
    "tls": "TLS failed",
    "front": "the native front failed",
    "server": "the name server closed it",
}
"""The party that closed a connection -> phrase about the connection."""
_SILENT = "was silent, so the name server closed its connection"
"""How a broker ended whose connection was closed because it was idle: it may hang, or be cut off."""
_FROM_ITS_PEER = frozenset({"channel_closed", "replaced", "stale_registration"})
"""Reasons whose peer did not ask for the end: the peer is the address that the connection came from."""

_MADE = {
    "": "as seen in a checkpoint",
    "register_broker": "registered",
    "register_topic": "registered by hand",
    "wipe_write_perm": "write permission wiped",
    "add_write_perm": "write permission added",
    "restored": "restored when the name server started",
    "observed": "as an observer saw it",
}


_CAUSES = {
    "register_broker": ("registration", "from"),
    "register_topic": ("topic registered by hand", "by"),
    "unregister_broker": ("unregistered", "by"),
    "heartbeat": ("heartbeat", "from"),
    "expired": ("silent for too long", ""),
    "restored": ("restored when the name server started", ""),
    "observed": ("seen by an observer", ""),
    "started_with": ("the name server started with it", ""),
    "channel_closed": ("connection closed", "from"),
    "replaced": ("replaced by another address or name", "from"),
    "stale_registration": ("older registration refused", "from"),
    "wipe_write_perm": ("write permission wiped", "by"),
    "add_write_perm": ("write permission added", "by"),
    "delete_topic": ("topic deleted", "by"),
    "put_kv_config": ("KV entry put", "by"),
    "delete_kv_config": ("KV entry deleted", "by"),
    "update_namesrv_config": ("configuration changed", "by"),
}
"""Cause of a change -> its phrase, and the word before the peer."""


def caused_by(cause: str, peer: str, closed_by: str = "") -> str:
    """The cause of a change in words, with the peer that asked and the side that closed a connection."""
    words, before_peer = _CAUSES.get(cause, (cause.replace("_", " "), "by"))
    text = f"{words} {before_peer} {peer}" if peer and before_peer else words
    return f"{text}: {CLOSED_BY.get(closed_by, closed_by)}" if closed_by else text


def ended(reason: str | None, closed_by: str | None) -> str:
    """How a registration ended: phrase about its broker."""
    if reason == "channel_closed" and closed_by:
        if closed_by == "idle":
            return _SILENT
        return f"lost its connection ({CLOSED_BY.get(closed_by, closed_by)})"
    return ENDS.get(reason or "", "is gone")


def session_ended_with(one: Evidence, route: TopicRoute) -> BrokerSession | None:
    """The registration that ended at the same time as a row; None if there is none."""
    for session in one.sessions_of(route.broker_name):
        if session.valid_to == route.valid_to and session.reason:
            return session
    return None


def was_dropped_by_broker(route: TopicRoute) -> bool:
    """Whether its broker registered again without the topic."""
    return route.to_cause == "register_broker" and route.reason is None


def vanished(route: TopicRoute) -> bool:
    """Whether an observer saw that the row went while its broker stayed, and not why."""
    return route.to_cause == "observed" and route.reason is None


def end_of_row(one: Evidence, route: TopicRoute) -> str:
    """Why a row ended."""
    name = route.broker_name
    if route.ended_by in {"unknown", "checkpoint"}:
        return f"{name} had it until records were lost"
    if route.to_cause == "delete_topic":
        return f"deleted on {name}{by(route.to_peer)}"
    if was_dropped_by_broker(route):
        return f"{name} registered without it{by(route.to_peer)}"
    if vanished(route):
        return f"{name} did not have it any more: it was deleted, or registered without it"
    session = session_ended_with(one, route)
    if session is None:
        return f"{name} {_ended(route.to_cause, route.to_peer)}"
    return end_of_session(session)


def unconfirmed(session: BrokerSession) -> str:
    """Phrase for a broker that was restored and has not been heard since."""
    who = f"{session.broker_name} ({session.broker_addr})"
    return f"{who} was restored when the name server started, and had not registered again"


def end_of_session(session: BrokerSession, name: str | None = None) -> str:
    """How the registration of a broker ended; it is called `name`, by default by its broker name."""
    who = f"{name or session.broker_name} ({session.broker_addr})"
    if session.ended_by == "stopped":
        return f"{who} was registered until the name server stopped"
    if session.ended_by in {"unknown", "checkpoint"}:
        return f"{who} was registered until records were lost"
    text = f"{who} {_ended(session.reason, session.to_peer, session.closed_by)}"
    if session.reason not in ENDS or session.to_window_ms:
        return text  # an observer does not know when the broker was last heard
    return f"{text}, {shown_duration(session.idle_ms or 0)} after it was last heard"


def _ended(cause: str | None, peer: str | None, closed_by: str | None = None) -> str:
    """`expired`, `lost its connection from <peer>`, `was unregistered by <peer>`."""
    if not peer or cause == "expired":
        return ended(cause, closed_by)
    if cause not in _FROM_ITS_PEER:
        return f"{ended(cause, None)}{by(peer)}"
    if closed_by == "idle":
        return f"{_SILENT} from {peer}"
    more = f" ({CLOSED_BY.get(closed_by, closed_by)})" if closed_by else ""
    return f"{ended(cause, None)} from {peer}{more}"


def with_cause(one: Evidence, route: TopicRoute) -> str:
    """The content of a row, and its cause."""
    cause = route.from_cause or ""
    if cause in ENDS:
        closed_by = next(
            (
                session.closed_by
                for session in one.sessions_of(route.broker_name)
                if session.valid_to == route.valid_from
            ),
            None,
        )
        return f"{queues(route)}, not writable since its master {_ended(cause, route.from_peer, closed_by)}"
    return f"{queues(route)}, {_MADE.get(cause, cause)}{by(route.from_peer)}"


def queues(route: TopicRoute) -> str:
    """The queues and permissions of a row."""
    return (
        f"{route.broker_name}: {route.read_queue_nums} read and {route.write_queue_nums} write queues,"
        f" {format_perm(route.perm)}"
    )


def by(peer: str | None) -> str:
    """` by <peer>`, or empty if the peer is not known."""
    return "" if peer is None else f" by {peer}"

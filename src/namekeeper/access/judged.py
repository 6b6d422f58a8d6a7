"""A request that was judged, as the journal remembers it."""

from msgspec import Struct

from namekeeper.access.names import NameKind, Names
from namekeeper.access.rules import AccessMode, Decision

__all__ = ["TEXT_LIMIT", "JudgedRequest", "about"]

NAMES_LIMIT = 20
TEXT_LIMIT = 255
"""Characters of a name or subject that are kept: the longest topic has as many."""


class JudgedRequest(Struct, frozen=True, kw_only=True):
    """Who asked for what, and what the rules said."""

    code: int
    peer: str
    decision: Decision
    mode: AccessMode
    user: str | None
    certificate: str
    """Subject of the client certificate; empty if there is none."""
    about: list[str]
    """What the request names, such as `topics=T`."""


def about(names: Names) -> list[str]:
    """The first names of a request, each with its kind."""
    found = [f"{kind.value}={name[:TEXT_LIMIT]}" for kind in NameKind for name in sorted(names.of(kind))]
    return found[:NAMES_LIMIT]

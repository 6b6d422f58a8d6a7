"""A request with the decision on it, in the form that the journal records."""

from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct

from namekeeper.access.names import Names
from namekeeper.access.rules import AccessMode, Decision
from namekeeper.messages.catalogue import NameKind

__all__ = [
    "NO_RULE_COVERS_IT",
    "PROTECT_BROKER_NAMES",
    "TEXT_LIMIT",
    "JudgedRequest",
    "about",
    "is_refusal_by_rules",
    "refusal_of",
    "subject_of",
]

NAMES_LIMIT = 20
TEXT_LIMIT = 255
"""Longest name or subject that is kept, in characters: the longest topic has as many."""
NO_RULE_COVERS_IT = "no rule covers it"
PROTECT_BROKER_NAMES = "protectBrokerNames"
"""The property that keeps live brokers from other hosts. Its refusals are recorded under a rule of this name.
"""
_BY = "refused by "
_BY_NO_RULE = f"refused: {NO_RULE_COVERS_IT}"


class JudgedRequest(Struct, frozen=True, kw_only=True):
    """One request of a peer, and the decision of the rules."""

    code: int
    peer: str
    decision: Decision
    mode: AccessMode
    user: str | None
    claimed: str = ""
    """User that the request names without a proof."""
    certificate: str
    """Subject of the client certificate; empty if there is none."""
    about: list[str]
    """Names in the request, such as `topics=T`."""


def about(names: Names) -> list[str]:
    """The first names of a request, each with its kind."""
    found = [f"{kind.value}={name[:TEXT_LIMIT]}" for kind in NameKind for name in sorted(names.of(kind))]
    return found[:NAMES_LIMIT]


def subject_of(certificate: Sequence[str]) -> str:
    """The first of the names in a verified certificate; empty if there is none.

    The end of a long one is replaced by a hash: it proves the owner of a broker, so two of them must differ.
    """
    name = "".join(certificate[:1])
    if len(name) <= TEXT_LIMIT:
        return name
    end = f"...{sha256(name.encode(errors='surrogatepass')).hexdigest()}"
    return name[: TEXT_LIMIT - len(end)] + end


def refusal_of(decision: Decision) -> str:
    """Describe a refusal and name its rule; the journal counts refusals by this text."""
    return _BY_NO_RULE if decision.rule is None else f"{_BY}rule {decision.rule!r}"


def is_refusal_by_rules(reason: str) -> bool:
    """Whether a reason in the journal's counts is one of `refusal_of`."""
    return reason.startswith(_BY) or reason == _BY_NO_RULE

"""Rules in order, and how a request is judged by them: the first rule that holds decides.

A rule that allows holds only if *all* names of the request match its conditions. A rule that refuses holds if
*any* name matches, or if the request names nothing: a request without a cluster may concern every cluster.
"""

import re
from enum import StrEnum
from typing import Self

from msgspec import Struct

from namekeeper.access.names import NAMED, NO_NAMES, NameKind, Names
from namekeeper.access.peer import IpNetwork, Peer
from namekeeper.access.request_class import HTTP_PAGES

__all__ = ["REFUSED_BY_DEFAULT", "AccessMode", "AccessRules", "Decision", "NamePatterns", "PeerRules", "Rule"]


class AccessMode(StrEnum):
    """What happens to a request that the rules refuse."""

    AUDIT = "audit"
    """It is logged and counted, and handled as if it were allowed."""
    ENFORCE = "enforce"
    """It is answered with NO_PERMISSION and has no effect."""


class NamePatterns(Struct, frozen=True):
    """Names with `*` for any characters and `?` for one; upper and lower case count."""

    texts: tuple[str, ...]
    expression: re.Pattern[str]

    @classmethod
    def of(cls, texts: tuple[str, ...]) -> Self:
        """Patterns of texts."""
        return cls(texts, re.compile("|".join(map(_expression, texts)), re.DOTALL))

    def covers(self, name: str) -> bool:
        """Whether one of the patterns is the whole name."""
        return self.expression.fullmatch(name) is not None


class Rule(Struct, frozen=True, kw_only=True):
    """Who may do what, or may not; a condition that is None is not checked."""

    name: str
    allows: bool = True
    codes: frozenset[int]
    networks: tuple[IpNetwork, ...] | None = None
    users: frozenset[str] | None = None
    certificates: NamePatterns | None = None
    names: tuple[tuple[NameKind, NamePatterns], ...] = ()
    """Conditions on what the request is about."""
    takes_over: bool = False
    """Whether what it allows may take the place of a live broker of another host (protectBrokerNames)."""

    @property
    def is_certain(self) -> bool:
        """Whether peer and code alone decide that it holds."""
        return self.users is None and not self.names

    def covers_code(self, code: int) -> bool:
        """Whether it is about requests with this code; they must have the kinds of names that it limits."""
        return code in self.codes and all(kind in NAMED.get(code, ()) for kind, _ in self.names)

    def covers_network(self, peer: Peer) -> bool:
        """Whether the peer's address is in one of the networks."""
        address = peer.address
        return self.networks is None or (
            address is not None and any(address in network for network in self.networks)
        )

    def covers_certificate(self, peer: Peer) -> bool:
        """Whether a name of the peer's certificate is one of the certificates."""
        return self.certificates is None or any(map(self.certificates.covers, peer.certificate))

    def covers_user(self, user: str | None) -> bool:
        """Whether the user is one of the users; None never is."""
        return self.users is None or user in self.users

    def covers_names(self, names: Names) -> bool:
        """Whether the names of the request match the conditions, see the module's docstring."""
        return all(self._covers_kind(patterns, names.of(kind)) for kind, patterns in self.names)

    def _covers_kind(self, patterns: NamePatterns, names: frozenset[str]) -> bool:
        if self.allows:
            return bool(names) and all(map(patterns.covers, names))
        return not names or any(map(patterns.covers, names))


class Decision(Struct, frozen=True):
    """What the rules say of a request."""

    allowed: bool
    rule: str | None
    """The name of the rule; None if none held, which refuses."""
    takes_over: bool = False
    """As in the rule."""


REFUSED_BY_DEFAULT = Decision(allowed=False, rule=None)


class AccessRules(Struct, frozen=True):
    """All rules of a file, in order."""

    mode: AccessMode
    rules: tuple[Rule, ...]

    def judge(self, code: int, peer: Peer, *, user: str | None = None, names: Names = NO_NAMES) -> Decision:
        """Judge one request of a peer; everybody may read the HTTP pages unless a rule is about them."""
        if code == HTTP_PAGES and not any(code in rule.codes for rule in self.rules):
            return Decision(allowed=True, rule=None)
        return PeerRules(self, peer).judge(code, user, names)


class PeerRules:
    """The rules that can hold for one peer. Its connection keeps them, so networks are compared once."""

    __slots__ = ("_by_code", "_rules", "peer")

    def __init__(self, rules: AccessRules, peer: Peer) -> None:
        self.peer = peer
        self._rules = rules.rules
        self._by_code: dict[int, tuple[Rule, ...]] = {}

    def for_code(self, code: int) -> tuple[Rule, ...]:
        """The rules that can hold for a code, up to the first one that certainly holds."""
        found = self._by_code.get(code)
        if found is None:
            found = self._by_code[code] = self._find(code)
        return found

    def may_allow(self, code: int) -> bool:
        """Whether there is a request with this code that would be allowed."""
        return any(rule.allows for rule in self.for_code(code))

    def needs_user(self, code: int) -> bool:
        """Whether the decision depends on who signed the request."""
        return any(rule.users is not None for rule in self.for_code(code))

    def needs_names(self, code: int) -> bool:
        """Whether the decision depends on what the request is about."""
        return any(rule.names for rule in self.for_code(code))

    def judge(self, code: int, user: str | None = None, names: Names = NO_NAMES) -> Decision:
        """Judge one request: the first rule that holds decides."""
        for rule in self.for_code(code):
            if rule.covers_user(user) and rule.covers_names(names):
                return Decision(rule.allows, rule.name, rule.takes_over)
        return REFUSED_BY_DEFAULT

    def _find(self, code: int) -> tuple[Rule, ...]:
        found = []
        for rule in self._rules:
            covers_peer = rule.covers_network(self.peer) and rule.covers_certificate(self.peer)
            if rule.covers_code(code) and covers_peer:
                found.append(rule)
                if rule.is_certain:
                    break
        return tuple(found)


def _expression(text: str) -> str:
    """The regular expression of a pattern: each part between two `*` is looked for once, from the left.

    With a plain `.*` for each, a name of a megabyte would be tried in all its divisions.
    """
    first, *others = (re.escape(part).replace(r"\?", ".") for part in text.split("*"))
    if not others:
        return first
    between = "".join(f"(?>.*?{part})" for part in others[:-1] if part)
    return f"{first}{between}.*{others[-1]}"

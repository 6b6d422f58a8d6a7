"""Ordered rules, the decision on a request, and the reasons for it: the first matching rule decides.

A rule that allows matches only if *all* names of the request match its conditions. A rule that refuses
matches if *any* name matches, or if the request names nothing: a request without a cluster may concern every
cluster.
"""

import re
from enum import StrEnum
from typing import Self

from msgspec import Struct

from namekeeper.access.names import NAMED, NO_NAMES, Names
from namekeeper.access.peer import NOBODY, Peer
from namekeeper.access.request_class import HTTP_PAGES, PLANNING_REQUESTS
from namekeeper.common.networks import IpNetwork
from namekeeper.messages.catalogue import NameKind

__all__ = [
    "REFUSED_BY_DEFAULT",
    "AccessCase",
    "AccessMode",
    "AccessRules",
    "Decision",
    "NamePatterns",
    "PeerRules",
    "Rule",
    "RuleVerdict",
    "explain",
]


class AccessMode(StrEnum):
    """The treatment of a request that the rules refuse."""

    AUDIT = "audit"
    """The server logs and counts the request, and handles it as if it were allowed."""
    ENFORCE = "enforce"
    """The server answers NO_PERMISSION, and the request has no effect."""


class NamePatterns(Struct, frozen=True):
    """Names with `*` for any characters and `?` for one character; case matters."""

    texts: tuple[str, ...]
    expression: re.Pattern[str]

    @classmethod
    def of(cls, texts: tuple[str, ...]) -> Self:
        """Compile the patterns of these texts."""
        return cls(texts, re.compile("|".join(map(_expression, texts)), re.DOTALL))

    def covers(self, name: str) -> bool:
        """Whether one of the patterns matches the whole name."""
        return self.expression.fullmatch(name) is not None


class Rule(Struct, frozen=True, kw_only=True):
    """Conditions on requests, and whether the rule allows or refuses them; None always holds."""

    name: str
    allows: bool = True
    codes: frozenset[int]
    networks: tuple[IpNetwork, ...] | None = None
    users: frozenset[str] | None = None
    certificates: NamePatterns | None = None
    names: tuple[tuple[NameKind, NamePatterns], ...] = ()
    """Conditions on the names in the request."""
    takes_over: bool = False
    """Whether a request that the rule allows may replace a live broker of another host (protectBrokerNames).
    """

    @property
    def is_certain(self) -> bool:
        """Whether peer and code alone decide that the rule matches."""
        return self.users is None and not self.names

    def covers_code(self, code: int) -> bool:
        """Whether the rule covers this code; requests must have every kind of name that the rule limits."""
        return code in self.codes and all(kind in NAMED.get(code, ()) for kind, _ in self.names)

    def covers_network(self, peer: Peer) -> bool:
        """Whether the peer's address is in one of the networks."""
        address = peer.address
        return self.networks is None or (
            address is not None and any(address in network for network in self.networks)
        )

    def covers_certificate(self, peer: Peer) -> bool:
        """Whether a name of the peer's certificate matches one of the patterns."""
        return self.certificates is None or any(map(self.certificates.covers, peer.certificate))

    def covers_user(self, user: str | None) -> bool:
        """Whether the user is one of the rule's users; a request without a user is from none of them."""
        return self.users is None or user in self.users

    def covers_names(self, names: Names) -> bool:
        """Whether the names of the request match the conditions, see the module's docstring."""
        return all(self._covers_kind(patterns, names.of(kind)) for kind, patterns in self.names)

    def _covers_kind(self, patterns: NamePatterns, names: frozenset[str]) -> bool:
        if self.allows:
            return bool(names) and all(map(patterns.covers, names))
        return not names or any(map(patterns.covers, names))


class Decision(Struct, frozen=True):
    """The decision of the rules on one request."""

    allowed: bool
    rule: str | None
    """The name of the rule that decided; None if no rule matched, which refuses the request."""
    takes_over: bool = False
    """`takes_over` of the rule."""


REFUSED_BY_DEFAULT = Decision(allowed=False, rule=None)


class AccessRules(Struct, frozen=True):
    """All rules of a file, in order."""

    mode: AccessMode
    rules: tuple[Rule, ...]

    def judge(self, code: int, peer: Peer, *, user: str | None = None, names: Names = NO_NAMES) -> Decision:
        """Decide on one request of a peer; every peer may read the HTTP pages unless a rule is about them."""
        if code == HTTP_PAGES and not any(code in rule.codes for rule in self.rules):
            return Decision(allowed=True, rule=None)
        return PeerRules(self, peer).judge(code, user, names)


class PeerRules:
    """The rules that can match one peer. Its connection keeps them, so networks are compared once."""

    __slots__ = ("_by_code", "_certified", "_rules", "peer")

    def __init__(self, rules: AccessRules, peer: Peer) -> None:
        self.peer = peer
        self._rules = rules.rules
        self._certified: dict[int, bool] = {}
        """Id of the patterns of a rule -> whether they match the peer's certificate."""
        self._by_code: dict[int, tuple[Rule, ...]] = {}

    def for_code(self, code: int) -> tuple[Rule, ...]:
        """The rules that can match a code, up to the first one that certainly matches."""
        found = self._by_code.get(code)
        if found is None:
            found = self._by_code[code] = self._find(code)
        return found

    def may_allow(self, code: int) -> bool:
        """Whether the rules would allow some request with this code."""
        return any(rule.allows for rule in self.for_code(code))

    def needs_user(self, code: int) -> bool:
        """Whether the decision depends on the user that signed the request."""
        return any(rule.users is not None for rule in self.for_code(code))

    def needs_names(self, code: int) -> bool:
        """Whether the decision depends on the names in the request."""
        return any(rule.names for rule in self.for_code(code))

    def judge(self, code: int, user: str | None = None, names: Names = NO_NAMES) -> Decision:
        """Decide on one request: the first matching rule decides. Nobody plans without a proof who it is."""
        if code == PLANNING_REQUESTS and user is None:
            return REFUSED_BY_DEFAULT
        for rule in self.for_code(code):
            if rule.covers_user(user) and rule.covers_names(names):
                return Decision(rule.allows, rule.name, rule.takes_over)
        return REFUSED_BY_DEFAULT

    def _find(self, code: int) -> tuple[Rule, ...]:
        found = []
        for rule in self._rules:
            if rule.covers_code(code) and self._covers(rule):
                found.append(rule)
                if rule.is_certain:
                    break
        return tuple(found)

    def _covers(self, rule: Rule) -> bool:
        """Whether the peer is one of the rule's. Its certificate may have many names: it is compared once."""
        if not rule.covers_network(self.peer):
            return False
        if rule.certificates is None:
            return True
        key = id(rule.certificates)
        if key not in self._certified:
            self._certified[key] = rule.covers_certificate(self.peer)
        return self._certified[key]


def _expression(text: str) -> str:
    """The regular expression of a pattern; it searches for each part between two `*` once, from the left.

    With a plain `.*` for each `*`, the search would try all divisions of a name of a megabyte.
    """
    first, *others = (re.escape(part).replace(r"\?", ".") for part in text.split("*"))
    if not others:
        return first
    between = "".join(f"(?>.*?{part})" for part in others[:-1] if part)
    return f"{first}{between}.*{others[-1]}"


HOLDS = "holds"


class AccessCase(Struct, frozen=True, kw_only=True):
    """A request that a peer could send."""

    code: int
    peer: Peer = NOBODY
    user: str | None = None
    """User with a valid signature."""
    names: Names = NO_NAMES


class RuleVerdict(Struct, frozen=True):
    """The result of one rule for a request."""

    rule: str
    text: str


def explain(rules: AccessRules, case: AccessCase) -> tuple[Decision, list[RuleVerdict]]:
    """Decide on a request as the server does; explain each rule's result, up to the rule that decides."""
    decision = rules.judge(case.code, case.peer, user=case.user, names=case.names)
    verdicts = []
    for rule in rules.rules:
        obstacle = _obstacle(rule, case)
        verdicts.append(RuleVerdict(rule.name, obstacle or HOLDS))
        if obstacle is None:
            break
    return decision, verdicts


def _obstacle(rule: Rule, case: AccessCase) -> str | None:
    """Why a rule does not match; None if it does."""
    if case.code not in rule.codes:
        return "is not about this request"
    for kind, _ in rule.names:
        if kind not in NAMED.get(case.code, ()):
            return f"limits {kind.value}, which this request does not have"
    return _obstacle_in_peer(rule, case.peer) or _obstacle_in_request(rule, case)


def _obstacle_in_peer(rule: Rule, peer: Peer) -> str | None:
    if not rule.covers_network(peer):
        address = "an unknown address" if peer.address is None else peer.address
        return f"networks: {address} is in none of them"
    if not rule.covers_certificate(peer):
        return f"certificates: {', '.join(peer.certificate) or 'there is none'}"
    return None


def _obstacle_in_request(rule: Rule, case: AccessCase) -> str | None:
    if case.code == PLANNING_REQUESTS and case.user is None:
        return "users: nobody plans without the token of a user"
    if not rule.covers_user(case.user):
        return f"users: {case.user or 'the request is not signed'}"
    if not rule.covers_names(case.names):
        return ", ".join(
            f"{kind.value}: {', '.join(sorted(case.names.of(kind))) or 'the request names none'}"
            for kind, _ in rule.names
        )
    return None

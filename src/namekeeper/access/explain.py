"""Why a request would be allowed or refused: each rule up to the one that decides, and what it asks for."""

from msgspec import Struct

from namekeeper.access.names import NAMED, NO_NAMES, Names
from namekeeper.access.peer import NOBODY, Peer
from namekeeper.access.rules import AccessRules, Decision, Rule

__all__ = ["AccessCase", "RuleVerdict", "explain"]

HOLDS = "holds"


class AccessCase(Struct, frozen=True, kw_only=True):
    """A request that somebody might send."""

    code: int
    peer: Peer = NOBODY
    user: str | None = None
    """Whose signature proves to be right."""
    names: Names = NO_NAMES


class RuleVerdict(Struct, frozen=True):
    """What one rule says of a request."""

    rule: str
    text: str


def explain(rules: AccessRules, case: AccessCase) -> tuple[Decision, list[RuleVerdict]]:
    """Judge a request as the server does; say for each rule up to the deciding one why it holds or not."""
    decision = rules.judge(case.code, case.peer, user=case.user, names=case.names)
    verdicts = []
    for rule in rules.rules:
        obstacle = _obstacle(rule, case)
        verdicts.append(RuleVerdict(rule.name, obstacle or HOLDS))
        if obstacle is None:
            break
    return decision, verdicts


def _obstacle(rule: Rule, case: AccessCase) -> str | None:
    """Why a rule does not hold; None if it does."""
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
    if not rule.covers_user(case.user):
        return f"users: {case.user or 'the request is not signed'}"
    if not rule.covers_names(case.names):
        return ", ".join(
            f"{kind.value}: {', '.join(sorted(case.names.of(kind))) or 'the request names none'}"
            for kind, _ in rule.names
        )
    return None

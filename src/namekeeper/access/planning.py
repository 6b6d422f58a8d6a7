"""Requests that write a plan: what rules decide on, and the decision.

A maintenance window covers whatever one of its names covers. So each kind of name is authorised alone: a rule
for some brokers covers no cluster that stands beside them.
"""

from collections.abc import Iterable

from namekeeper.access.names import NAMED, NO_NAMES, Names
from namekeeper.access.peer import Peer
from namekeeper.access.request_class import PLANNING_REQUESTS
from namekeeper.access.rules import REFUSED_BY_DEFAULT, AccessRules, Decision, PeerRules

__all__ = ["judge_plan", "plan_parts"]


def plan_parts(names: Names, *, has_others: bool = False) -> list[Names]:
    """The parts of a request that are authorised alone, one for each kind of name.

    Args:
        names: what it names.
        has_others: whether it is also about something that no rule can name: a name server, or everything.
    """
    kinds = NAMED[PLANNING_REQUESTS]
    parts = [Names(**{kind.value: names.of(kind)}) for kind in kinds if names.of(kind)]
    return [*parts, NO_NAMES] if has_others or not parts else parts


def judge_plan(rules: AccessRules, peer: Peer, user: str | None, parts: Iterable[Names]) -> Decision:
    """Decide on a request: the first refusal, or the names of all rules that allow a part.

    The mode audit refuses, too: nobody could write before. Without parts, the decision is whether rules would
    allow some request of the user.
    """
    of_peer = PeerRules(rules, peer)
    found = []
    for part in parts:
        decision = of_peer.judge(PLANNING_REQUESTS, user, part)
        if not decision.allowed:
            return decision
        found.append(str(decision.rule))
    rules_of_peer = of_peer.for_code(PLANNING_REQUESTS)
    if not found and not any(rule.allows and rule.covers_user(user) for rule in rules_of_peer):
        return REFUSED_BY_DEFAULT
    return Decision(allowed=True, rule=", ".join(dict.fromkeys(found)))

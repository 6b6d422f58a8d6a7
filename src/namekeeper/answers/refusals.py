"""Facts about requests that access rules refused, and that may be why a topic had no route."""

from collections.abc import Iterable
from typing import NamedTuple

from namekeeper.answers.evidence import HOUR_MS, Evidence, RefusedRequest
from namekeeper.answers.verdict import Fact
from namekeeper.wire.codes import RequestCode

__all__ = ["facts_of_refusals"]

_MOST_FACTS = 5
_BROKERS, _TOPICS = "brokers=", "topics="


class _RefusalKind(NamedTuple):
    """The common properties of the refusals that make one fact."""

    code: int
    about: tuple[str, ...]
    host: str
    user: str | None
    rule: str | None


def facts_of_refusals(one: Evidence, at: int) -> list[Fact]:
    """Requests about the topic, or about brokers that ever had it, refused within the hour before a time.

    If no broker ever had it, a refused registration of any broker may be the reason.
    """
    brokers = {route.broker_name for route in one.routes}
    found: dict[_RefusalKind, tuple[int, int]] = {}
    for each in one.refused:
        if at - HOUR_MS <= each.at <= at and _concerns(each, one.topic, brokers):
            kind = _RefusalKind(each.code, tuple(each.about or ()), _host(each.peer), each.user, each.rule)
            count, _ = found.get(kind, (0, 0))
            found[kind] = (count + each.count, each.at)
    newest = sorted(found.items(), key=lambda item: (-item[1][1], item[0].about))
    facts = [Fact(_text(kind, count), last) for kind, (count, last) in newest[:_MOST_FACTS]]
    if newest[_MOST_FACTS:]:
        facts.append(Fact(f"{len(newest) - _MOST_FACTS} other kinds of requests were refused"))
    return facts


def _concerns(refused: RefusedRequest, topic: str, brokers: Iterable[str]) -> bool:
    about = refused.about or ()
    topics = _named(about, _TOPICS)
    if topics:
        return topic in topics
    named = _named(about, _BROKERS)
    if not brokers:
        return refused.code == RequestCode.REGISTER_BROKER
    return not named.isdisjoint(brokers)


def _named(about: Iterable[str], prefix: str) -> set[str]:
    return {name.removeprefix(prefix) for name in about if name.startswith(prefix)}


def _host(peer: str | None) -> str:
    return (peer or "").rpartition(":")[0] or "several peers"


def _text(kind: _RefusalKind, count: int) -> str:
    known = set(RequestCode)
    name = f"{RequestCode(kind.code).name} ({kind.code})" if kind.code in known else str(kind.code)
    what = " ".join([name, *kind.about])
    times = "" if count == 1 else f" (the last of {count:,} times within the hour before)"
    user = "" if kind.user is None else f", user {kind.user}"
    rule = "because no access rule covers it" if kind.rule is None else f"by access rule {kind.rule!r}"
    return f"{what} from {kind.host}{user} was refused {rule}{times}"

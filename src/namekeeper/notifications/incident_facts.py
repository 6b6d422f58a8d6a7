"""An incident as receivers get it: bounded, and with texts in which names from the network stay data."""

from collections.abc import Iterable

from msgspec import Struct, structs

from namekeeper.answers.incidents.deviation import DeviationKind, with_names
from namekeeper.answers.incidents.failures import IncidentKind
from namekeeper.answers.incidents.incident import FoundIncident
from namekeeper.answers.incidents.texts import cost, what, why
from namekeeper.common.durations import shown_duration

__all__ = ["NAMES_LIMIT", "NAME_CHARACTERS", "IncidentFacts", "SeenIncident", "facts_of", "plain", "summary"]

NAMES_LIMIT = 20
"""Most names of brokers, and of name servers, of one incident; `brokers` counts all."""
NAME_CHARACTERS = 255
"""Longest name; RocketMQ's own are shorter. The rest is replaced by an ellipsis."""

_HARMLESS = frozenset(" ._:%|-,+[]")
"""Characters of names, besides letters and digits, without a meaning for chats, mail and terminals."""


class SeenIncident(Struct, frozen=True):
    """An incident, and the name servers that were looked at together to find it."""

    incident: FoundIncident
    namesrvs: tuple[str, ...]
    """The ids of these, sorted."""


class IncidentFacts(Struct, kw_only=True, frozen=True):
    """The facts of an incident. Each name is exactly as the network has it, but for its length."""

    kind: IncidentKind
    cluster: str | None
    """RocketMQ's cluster name; None for a name server."""
    subject: str
    """The broker name, topic or name server; the first of several by name."""
    what: str
    """The kind and the subject for people. Unusual characters of names are escaped, as in `\\x3c`."""
    why: str
    """The cause for people; empty: not known."""
    cost: str
    """The topics and lookups that went along, for people; empty: none."""
    cause: str | None
    """The cause as `namekeeper incidents --json` has it."""
    closed_by: str | None
    """For a closed connection, why it closed."""
    peer: str | None
    """The peer that asked for it, `host:port`, or the broker itself."""
    brokers: int
    broker_names: list[str]
    """At most 20."""
    topics: int
    """How many topics could not be written to."""
    first_topic: str | None
    lookups: int
    """Lookups of these topics that found no route."""
    name_servers: list[str]
    """Name servers with the rows that broke, at most 20; empty: it is not about any."""
    seen_by: list[str]
    """The name servers of its cluster, at most 20."""
    from_ts: int
    """Start, ms since 1970."""
    from_window_ms: int
    """The start was up to this long before `from_ts`; 0: exactly then."""
    to_ts: int | None
    """End, ms since 1970; None: it is open."""
    is_forgotten: bool
    """Whether it ended because nobody expected the broker or topic any more."""
    is_withdrawn: bool = False
    """Whether it ended because later records explain it otherwise."""
    deviation: DeviationKind | None = None
    """For kind `deviation`: how something is not as the expected state says."""
    planned: str = ""
    """Ids of the maintenance windows that it is a part of; empty: it is not planned."""
    to_window_ms: int = 0
    """The end was up to this long before `to_ts`; 0: exactly then, or it is open."""


def facts_of(seen: SeenIncident) -> IncidentFacts:
    """The facts of an incident, bounded."""
    exact = seen.incident
    shown = structs.replace(
        exact,
        subject=plain(exact.subject),
        broker_names=[plain(each) for each in exact.broker_names],
        first_topic=None if exact.first_topic is None else plain(exact.first_topic),
        peer=None if exact.peer is None else plain(exact.peer),
        cause=None if exact.cause is None else plain(exact.cause),
        closed_by=None if exact.closed_by is None else plain(exact.closed_by),
        deviations=[with_names(each, plain) for each in exact.deviations[:1]]
        + exact.deviations[1:],  # of these only the number is shown
        drift=[each.with_names(plain) for each in exact.drift[:1]] + exact.drift[1:],
    )
    return IncidentFacts(
        kind=exact.kind,
        cluster=_cut_or_none(exact.cluster),
        subject=_cut(exact.subject),
        what=what(shown),
        why=why(shown),
        cost=cost(shown),
        cause=_cut_or_none(exact.cause),
        closed_by=_cut_or_none(exact.closed_by),
        peer=_cut_or_none(exact.peer),
        brokers=exact.brokers,
        broker_names=_some(exact.broker_names),
        topics=exact.topics,
        first_topic=_cut_or_none(exact.first_topic),
        lookups=exact.lookups,
        name_servers=_some(exact.name_servers),
        seen_by=_some(seen.namesrvs),
        from_ts=exact.from_ts,
        from_window_ms=exact.from_window_ms or 0,
        to_ts=exact.to_ts,
        is_forgotten=exact.is_forgotten,
        deviation=exact.deviation,
        planned=exact.planned,
        to_window_ms=exact.to_window_ms or 0,
    )


def plain(name: str) -> str:
    r"""A name for texts in chats, mails and terminals: unusual characters become escapes, as `\x3c`.

    Letters and digits of any script stay. Escaped are all characters with a meaning in Markdown, HTML or a
    chat, such as `<`, `*`, `@` and `/`, and all that are not for display.
    """
    shown = "".join(
        each if each in _HARMLESS or (each.isalnum() and each.isprintable()) else _escaped(each)
        for each in name[:NAME_CHARACTERS]
    )
    return f"{shown}..." if len(name) > NAME_CHARACTERS else shown


def summary(facts: IncidentFacts, *, is_open: bool) -> str:
    """One line: what happened, and for how long if it is over."""
    if is_open or facts.to_ts is None:
        return facts.what
    if facts.is_withdrawn:
        return f"{facts.what}: withdrawn"
    return f"{facts.what}: over after {shown_duration(max(facts.to_ts - facts.from_ts, 0))}"


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _cut(name: str) -> str:
    """A name within the limit, that can be encoded: a lone surrogate becomes a question mark."""
    cut = name if len(name) <= NAME_CHARACTERS else f"{name[:NAME_CHARACTERS]}…"
    return cut.encode(errors="replace").decode()


def _cut_or_none(name: str | None) -> str | None:
    return None if name is None else _cut(name)


def _some(names: Iterable[str]) -> list[str]:
    return [_cut(each) for each in [*names][:NAMES_LIMIT]]

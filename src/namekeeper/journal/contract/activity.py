"""The records of the journal that count what happened: signs of life, lookups, refusals, verdicts."""

from typing import Annotated

from msgspec import Struct, field

from namekeeper.journal.contract.record import Record
from namekeeper.journal.contract.stated import FactTable, RowPart, Unit, stated

__all__ = [
    "ACTIVITY_KINDS",
    "EDGES_MS",
    "Access",
    "BrokerMinute",
    "Denied",
    "LookupHour",
    "TopicLookups",
    "UnknownTopicMinute",
]

EDGES_MS = (1_000, 5_000, 10_000, 20_000, 35_000, 65_000, 125_000)
"""Bounds of `BrokerMinute.gaps`."""

_MS, _INSTANT, _COUNT, _NUMBER, _BYTES = Unit.MS, Unit.INSTANT, Unit.COUNT, Unit.NUMBER, Unit.BYTES
_KEY = RowPart.KEY

# A field is a paragraph: the formatter would make eight lines of three.
# fmt: off


class BrokerMinute(Record, tag="broker_minute", kw_only=True):
    """How often one session was refreshed in one minute."""

    kind_class, fact = "activity", FactTable(
        "broker_minute", "Signs of life of one session in one minute; several rows of one minute add up.")

    cluster: Annotated[str, stated("Cluster name.")]
    broker_addr: Annotated[str, stated("host:port.", column="host:port of the broker.")]
    broker_name: Annotated[str, stated("Broker name.")]
    broker_id: Annotated[int, stated("0 for a master.", _NUMBER)]
    gen: Annotated[int, stated("Generation.", _NUMBER)]
    minute: Annotated[int, stated("Start of the minute, wall ms.", _INSTANT)]
    last_seen: Annotated[int, stated(
        "Wall ms of the last refresh in this minute.", _INSTANT, null="not known")] = 0
    count: Annotated[int, stated("Refreshes: requests 103, 322 and 904.", _COUNT)]
    registrations: Annotated[int, stated("How many of them were 103.", _COUNT)] = 0
    max_gap_ms: Annotated[int, stated("The longest time between two refreshes.", _MS)] = 0
    gaps: Annotated[list[int], stated(
        "How many times between two refreshes were under each of heartbeat_gap_edges_ms (and not under the"
        " edge before); the last number counts the longer ones.",
        _COUNT,
        column=f"How many times between two refreshes were under {', '.join(map(str, EDGES_MS))} ms (and not"
        " under the one before); the last number counts the longer ones."
        )] = field(default_factory=list)
    body_bytes: Annotated[int, stated("The largest registration body.", _BYTES)] = 0


class TopicLookups(Struct, frozen=True, array_like=True):
    """A row of `LookupHour`."""

    topic: Annotated[str, stated(
        "Topic; empty: no topic, but all others of the hour, which the server did not count by name because"
        " the names took 32 MiB.", part=_KEY)]
    count: Annotated[int, stated("Lookups.", _COUNT)]


class LookupHour(Record, tag="lookup_hour", kw_only=True):
    """Lookups of topics with a route, in one hour."""

    kind_class, fact = "activity", FactTable(
        "lookup_hour",
        "Route lookups of topics with a route; several rows of one hour add up.",
        "a topic of a record")
    meaning = (
        "Route lookups of topics with a route, at most 1,000 topics in a record; several records of one hour"
        " add up."
    )

    hour: Annotated[int, stated("Start of the hour, wall ms.", _INSTANT)]
    lookups: Annotated[list[tuple[str, int]], stated(
        "Each [topic, count]. An empty topic stands for the topics that the server did not count by name,"
        " because the names of an hour took 32 MiB.", rows=TopicLookups)]


class UnknownTopicMinute(Record, tag="unknown_topic_minute", kw_only=True):
    """Route lookups of topics that had no route; several records of one minute add up."""

    kind_class, fact = "activity", FactTable(
        "unknown_topic_minute",
        "Route lookups of topics that had no route; several rows of one minute add up.")

    minute: Annotated[int, stated("Start of the minute, wall ms.", _INSTANT)]
    topic: Annotated[str, stated("Topic; absent under other and invalid.")] = ""
    bucket: Annotated[str, stated(
        "other: the topics after the first 1,000 of a minute; invalid: the name is missing, too long or not"
        " allowed.", null="a topic of its own")] = ""
    language: Annotated[str, stated("Client language.", null="not known")] = ""
    client_version: Annotated[int, stated("Client version number.", _NUMBER)] = 0
    count: Annotated[int, stated("Lookups.", _COUNT)]


class Denied(Record, tag="denied", kw_only=True):
    """Requests that were refused."""

    kind_class, fact = "activity", FactTable(
        "denied", "Requests that were refused, counted by code and peer host.")
    meaning = (
        "Requests that were refused with NO_PERMISSION, counted by code, peer host and reason; written once a"
        " minute, with at most 100 hosts."
    )

    code: Annotated[int, stated("Request code.", _NUMBER)]
    host: Annotated[str, stated("Peer host; absent where several are counted together.")] = ""
    reason: Annotated[str, stated("The first line of the answer's remark, at most 200 characters.")]
    count: Annotated[int, stated("Requests since the last minute was written.", _COUNT)]


class Access(Record, tag="access", kw_only=True):
    """The verdict of access rules on a request."""

    kind_class, fact = "activity", FactTable(
        "access",
        "Verdicts of access rules on admin requests, and on registrations and unregistrations that"
        " were refused or concerned a broker that was not there; and the requests that protectBrokerNames"
        " refused.")
    meaning = (
        "The verdict of access rules on an admin request, or on a registration or unregistration that was"
        " refused or concerned a broker that was not there. Such a request gets a record of its own, up to"
        " 200 in a minute. The other requests of that minute are counted by code, rule and verdict, without"
        " peer. Without access rules, only requests that protectBrokerNames refused get records. The peer is"
        " in the envelope; its changes are in the records that follow, with the same peer."
    )

    code: Annotated[int, stated("Request code.", _NUMBER)]
    allowed: Annotated[bool, stated("Whether the rules allow it.")] = False
    rule: Annotated[str, stated(
        "Name of the rule that decided, or protectBrokerNames; absent: no rule covers the request.")] = ""
    mode: Annotated[str, stated("enforce, or audit: a refusal was only noted.")]
    user: Annotated[str, stated("User whose signature was right.", null="nobody is proved")] = ""
    claimed: Annotated[str, stated(
        "User that the request names, where its signature was wrong, absent or not checked: not proved."
        " Older versions do not write it.",
        null="none")] = ""
    certificate: Annotated[str, stated(
        "Subject of the verified client certificate.", null="there was none")] = ""
    about: Annotated[list[str], stated(
        "Names that the request is about, such as topics=T, brokers=b; at most 20."
        )] = field(default_factory=list)
    count: Annotated[int, stated("Requests: 1, or more where they are counted together.", _COUNT)]


# fmt: on

ACTIVITY_KINDS: tuple[type[Record], ...] = (BrokerMinute, LookupHour, UnknownTopicMinute, Denied, Access)
"""These kinds, in the order of the contract."""

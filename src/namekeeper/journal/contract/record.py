"""The records of the journal: a class for each kind in `v1.json`.

A record of a state kind says what one row is now, never which rule made it so. Members with their default are
left out of the line. The pipeline reads by the same contract, with code of its own.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Raw, Struct, field

__all__ = [
    "CONTRACT_VERSION",
    "EDGES_MS",
    "KINDS",
    "NO_MAPPING",
    "ROWS_IN_A_RECORD",
    "STATE_KINDS",
    "Access",
    "BrokerGroup",
    "BrokerLive",
    "BrokerMinute",
    "BrokerNameRemovedRecord",
    "CheckpointBegin",
    "CheckpointEnd",
    "ClockChanged",
    "Cluster",
    "Config",
    "Denied",
    "Envelope",
    "FilterServers",
    "Kv",
    "LookupHour",
    "Record",
    "SegmentsDeleted",
    "ServerAlive",
    "ServerStarted",
    "ServerStopped",
    "TopicMapping",
    "TopicQueues",
    "UnknownTopicMinute",
]

CONTRACT_VERSION = 1
ROWS_IN_A_RECORD = 1_000
"""Topic rows, or look-up counts, in one record: a line stays under some hundred kilobytes."""

NO_MAPPING = Raw(b"null")

EDGES_MS = (1_000, 5_000, 10_000, 20_000, 35_000, 65_000, 125_000)
"""Bounds of `BrokerMinute.gaps`."""


class Record(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="record"):
    """The contract's envelope, which every record has; it is filled in when the record is encoded."""

    v: int = 0
    namesrv: str = ""
    boot: int = 0
    seq: int = 0
    change: int = 0
    end: bool = False
    ts: int = 0
    up_ms: int = field(default_factory=int)
    """Required, although it may be 0: a default made by a factory is never left out of the line."""
    cause: str = ""
    peer: str = ""
    checkpoint: int = 0

    @property
    def kind(self) -> str:
        """The name of the kind in the contract."""
        return str(self.__struct_config__.tag)


class Envelope(Struct, kw_only=True):
    """Only the envelope of a record: its kind is unknown, or the other members are not needed."""

    kind: str
    v: int
    namesrv: str
    boot: int
    seq: int
    change: int
    end: bool = False
    ts: int
    up_ms: int
    cause: str = ""
    peer: str = ""
    checkpoint: int = 0


class ServerStarted(Record, tag="server_started", kw_only=True):
    """The first record of a boot."""

    uuid: str
    server_version: str
    previous_boot: int = 0
    previous_seq: int = 0
    previous_alive_ts: int = 0
    scan_interval_ms: int = 0
    port: int = 0
    checksums: bool = False
    """Whether each record of this boot has a checksum."""


class ServerAlive(Record, tag="server_alive", kw_only=True):
    """Once a minute."""

    connections: int = 0
    dropped_changes: int = 0
    dropped_records: int = 0


class ServerStopped(Record, tag="server_stopped", kw_only=True):
    """The last record of an orderly stop."""

    last_seq: int


class ClockChanged(Record, tag="clock_changed", kw_only=True):
    """The wall clock made a step."""

    step_ms: int


class CheckpointBegin(Record, tag="checkpoint_begin", kw_only=True):
    """The first record of a checkpoint: the whole state at its position follows."""

    reason: str


class CheckpointEnd(Record, tag="checkpoint_end", kw_only=True):
    """The last record of a checkpoint; the checkpoint is complete if every count is right."""

    counts: Mapping[str, int]


class SegmentsDeleted(Record, tag="segments_deleted", kw_only=True):
    """Retention deleted segments."""

    segments: list[str]
    bytes: int
    reason: str


class BrokerLive(Record, tag="broker_live", kw_only=True):
    """A live registration, or its end."""

    cluster: str
    broker_addr: str
    broker_name: str
    broker_id: int
    gen: int
    new: bool = False
    ha_server_addr: str = ""
    timeout_ms: int = 0
    data_version: tuple[int, int, int] | None = None
    """State version, timestamp, counter."""
    channel: int = 0
    remote_addr: str = ""
    body_bytes: int = 0
    gone: bool = False
    reason: str = ""
    idle_ms: int = 0
    closed_by: str = ""
    owner_host: str = ""
    """Of who registered it, if that is not the host of `remote_addr`: a restored row has no connection."""
    owner_user: str = ""
    owner_certificate: str = ""


class BrokerGroup(Record, tag="broker_group", kw_only=True):
    """All members of a broker name, or the end of the row."""

    broker_name: str
    cluster: str = ""
    zone: str | None = None
    acting_master: bool = False
    broker_addrs: Mapping[int, str] = {}
    gone: bool = False


class Cluster(Record, tag="cluster", kw_only=True):
    """The broker names of a cluster; an empty list: the cluster is gone."""

    cluster: str
    broker_names: list[str] = []


class TopicQueues(Record, tag="topic_queues", kw_only=True):
    """Topic rows of one broker name: (topic, read, write, perm, sysFlag), or (topic,) when gone."""

    broker_name: str
    rows: list[tuple[Any, ...]]


class BrokerNameRemovedRecord(Record, tag="broker_name_removed", kw_only=True):
    """Every topic row of this broker name that came before is gone."""

    broker_name: str


class TopicMapping(Record, tag="topic_mapping", kw_only=True):
    """The static-topic mapping of one topic on one broker name, or its end."""

    topic: str
    broker_name: str
    mapping: Raw = NO_MAPPING
    """TopicQueueMappingInfo as JSON, in the standard form of the wire."""
    gone: bool = False


class FilterServers(Record, tag="filter_servers", kw_only=True):
    """The filter servers of a live broker; an empty list: the row is gone."""

    cluster: str
    broker_addr: str
    filter_servers: list[str] = []


class Kv(Record, tag="kv", kw_only=True):
    """An entry of the KV configuration, or its end."""

    namespace: str
    key: str
    value: str = ""
    gone: bool = False


class Config(Record, tag="config", kw_only=True):
    """Properties that have a new value."""

    properties: Mapping[str, str]


class BrokerMinute(Record, tag="broker_minute", kw_only=True):
    """How often one session was refreshed in one minute (103, 322, 904)."""

    cluster: str
    broker_addr: str
    broker_name: str
    broker_id: int
    gen: int
    minute: int
    last_seen: int = 0
    count: int
    registrations: int = 0
    max_gap_ms: int = 0
    gaps: list[int] = []
    """Counts between the EDGES_MS: one count more than there are edges."""
    body_bytes: int = 0


class LookupHour(Record, tag="lookup_hour", kw_only=True):
    """Look-ups of known topics in one hour: (topic, count)."""

    hour: int
    lookups: list[tuple[str, int]]


class UnknownTopicMinute(Record, tag="unknown_topic_minute", kw_only=True):
    """Look-ups of a topic that had no route, in one minute."""

    minute: int
    topic: str = ""
    bucket: str = ""
    """`other` or `invalid` for look-ups that are not counted by topic."""
    language: str = ""
    client_version: int = 0
    count: int


class Denied(Record, tag="denied", kw_only=True):
    """Requests that were refused."""

    code: int
    host: str = ""
    reason: str
    count: int


class Access(Record, tag="access", kw_only=True):
    """What access rules said of a request."""

    code: int
    allowed: bool = False
    rule: str = ""
    mode: str
    user: str = ""
    claimed: str = ""
    certificate: str = ""
    about: list[str] = []
    count: int


KINDS: tuple[type[Record], ...] = (
    ServerStarted,
    ServerAlive,
    ServerStopped,
    ClockChanged,
    CheckpointBegin,
    CheckpointEnd,
    SegmentsDeleted,
    BrokerLive,
    BrokerGroup,
    Cluster,
    TopicQueues,
    BrokerNameRemovedRecord,
    TopicMapping,
    FilterServers,
    Kv,
    Config,
    BrokerMinute,
    LookupHour,
    UnknownTopicMinute,
    Denied,
    Access,
)
"""Every kind, as in the contract."""

STATE_KINDS: tuple[type[Record], ...] = (
    BrokerLive,
    BrokerGroup,
    Cluster,
    TopicQueues,
    BrokerNameRemovedRecord,
    TopicMapping,
    FilterServers,
    Kv,
    Config,
)
"""Kinds that say what a row is now; the others say what the server did, or count activity."""

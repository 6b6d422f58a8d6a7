"""The records of the journal about the server and its rows: a class for each kind, which states its fields.

This and `activity` are the only statement. `generate` makes `v1.json`, the page for readers and the contract
of the pipeline from it. A record of a state kind says what one row is now, never which rule made it so.
Members with their default are left out of the line.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from msgspec import Raw, Struct, field

from namekeeper.journal.contract.stated import FactTable, RowPart, Unit, kind_name, stated

# fmt: off
__all__ = [
    "CONTRACT_VERSION", "NO_MAPPING", "ROWS_IN_A_RECORD", "SERVER_KINDS", "STATE_KINDS",
    "BrokerGroup", "BrokerLive", "BrokerNameRemovedRecord", "CheckpointBegin", "CheckpointEnd",
    "ClockChanged", "Cluster", "Config", "ConfigProperty", "Envelope", "EnvelopeMembers",
    "FilterServers", "Kv", "Record", "SegmentsDeleted", "ServerAlive", "ServerStarted",
    "ServerStopped", "TopicMapping", "TopicQueues", "TopicQueuesRow",
]
# fmt: on

CONTRACT_VERSION = 1
ROWS_IN_A_RECORD = 1_000
"""Topic rows, or lookup counts, in one record: a line stays under some hundred kilobytes."""

NO_MAPPING = Raw(b"null")

_MS, _INSTANT, _COUNT, _NUMBER, _BYTES = Unit.MS, Unit.INSTANT, Unit.COUNT, Unit.NUMBER, Unit.BYTES
_KEY, _END, _NOTE, _GONE = RowPart.KEY, RowPart.END, RowPart.NOTE, RowPart.GONE
_IF_GONE = "gone"

_SERVER = FactTable(
    "server",
    "Records of the server's process about itself: kinds server_started, server_alive, server_stopped,"
    " clock_changed and segments_deleted.",
)
_CHECKPOINT = FactTable(
    "checkpoint",
    "Starts and ends of checkpoints. A checkpoint counts if its end is there, there are as many records with"
    " this `checkpoint` as the end says (count them in events), and no seq between is missing. Then it"
    " replaces the state.",
)

# A field is a paragraph: the formatter would make eight lines of three.
# fmt: off


class EnvelopeMembers(Struct, kw_only=True, omit_defaults=True):
    """The members of every record beside its kind; the encoder fills them in."""

    v: Annotated[int, stated("Version of this contract: 1.", _NUMBER, is_required=True)] = 0
    namesrv: Annotated[str, stated(
        "Identity of the name server, as in identity.json.", is_required=True)] = ""
    boot: Annotated[int, stated(
        "Identity of one run of the server process: wall clock in ms at its start, or the last boot + 1 if"
        " that is not later. Another boot begins in the same process when a folder that was refused can be"
        " used.", _NUMBER, is_required=True)] = 0
    seq: Annotated[int, stated(
        "1, 2, 3 ... within a boot: a missing number is a loss.", _NUMBER, is_required=True)] = 0
    change: Annotated[int, stated(
        "The seq of the first record of the change that this record belongs to. Each record of a checkpoint,"
        " about the server or of activity is a change of its own.", _NUMBER, is_required=True)] = 0
    end: Annotated[bool, stated(
        "True on the last record of a change. A change is complete if every seq from change to the one with"
        " end is there; an incomplete change is never applied.")] = False
    ts: Annotated[int, stated(
        "Wall clock, ms since 1970, the same for all records of a change. While the clock is less than a"
        " second behind the record before, the ts of that record is used.", _INSTANT, is_required=True)] = 0
    up_ms: Annotated[int, stated(
        "Monotonic ms since the boot began, the same for all records of a change.",
        _MS, is_required=True)] = field(default_factory=int)
    """A default made by a factory is never left out of the line, although it may be 0."""
    cause: Annotated[str, stated(
        "The request that asked for the change or the rule that made it; absent in checkpoints, in activity"
        " and in records about the server. The cause restored: the boot began with these rows, which were"
        " those at the end of the boot before; no broker has confirmed them yet. The cause observed: an"
        " observer saw the change, and its cause is not known. A record of an observer has another cause"
        " if the log of the name server has it.")] = ""
    peer: Annotated[str, stated(
        "Who asked: host:port of the connection, or user@host:port where access rules know whose signature"
        " the request has; absent when nobody asked.")] = ""
    checkpoint: Annotated[int, stated(
        "On a row of a checkpoint and on its end: the seq of its checkpoint_begin. The row is the state at"
        " that position in the order.", _NUMBER, null="of no checkpoint")] = 0
    window_ms: Annotated[int, stated(
        "An observer wrote the record: the change happened between ts - window_ms and ts, both included. The"
        " observed name server gave the value before to a request sent at ts - window_ms, and ts is when the"
        " answer with the new value was received. Absent: ts is exact.",
        _MS, null="ts is exact",
        column="An observer recorded the change: it happened between ts - window_ms and ts.")] = 0


class Record(EnvelopeMembers, kw_only=True, tag_field="kind", tag="record"):
    """A record: its envelope, and the members of its kind."""

    kind_class: ClassVar[str] = ""
    """Such kinds are about the server (boot), checkpoints, rows (state), or counts (activity)."""
    fact: ClassVar[FactTable]
    meaning: ClassVar[str] = ""
    """Meaning of the kind; empty: the docstring states it."""

    @property
    def kind(self) -> str:
        """The name of the kind in the contract."""
        return kind_name(type(self))


class Envelope(EnvelopeMembers, kw_only=True):
    """Only the envelope of a record: its kind is unknown, or the other members are not needed."""

    kind: Annotated[str, stated("Kind of the record; see kinds.", column="Kind of the record.")]


class ServerStarted(Record, tag="server_started", kw_only=True):
    """The first record of a boot."""

    kind_class, fact = "boot", _SERVER

    uuid: Annotated[str, stated("Random identity of the journal folder.")]
    server_version: Annotated[str, stated("Version of Namekeeper.")]
    previous_boot: Annotated[int, stated(
        "The boot before this one in the folder; absent in the first.", _NUMBER, null="")] = 0
    previous_seq: Annotated[int, stated(
        "The last seq of the boot before that is on disk.", _NUMBER, null="there was no boot before")] = 0
    previous_alive_ts: Annotated[int, stated(
        "Wall ms at which the boot before still ran, with previous_seq as its last record: after a crash its"
        " state is known until then. Absent if that is not known. Older versions do not write it.",
        _INSTANT, null="not known")] = 0
    scan_interval_ms: Annotated[int, stated("Interval of the expiry scan.", _MS)] = 0
    port: Annotated[int, stated("Port at which the server listens.", _NUMBER)] = 0
    checksums: Annotated[bool, stated("True: each record of this boot has a checksum.", column=None)] = False
    observed_addr: Annotated[str, stated(
        "host:port of the observed name server. An observer writes this journal by asking it, and a boot is"
        " one period of observation. Absent: the name server itself writes the journal.",
        null="the name server itself writes the journal")] = ""
    restart: Annotated[str, stated(
        "Whether the observed name server restarted since the boot before. seen: its connection was closed,"
        " and its tables began empty. possible: the observer can't tell. Absent: this is the first boot, or"
        " the name server itself writes the journal.",
        column="Whether the observed name server restarted since the boot before: seen, or possible.",
        null="the first boot, or the name server itself writes the journal")] = ""
    cluster_label: Annotated[str, stated(
        "Label of its cluster: name servers with different ones are not compared.", null="none")] = ""


class ServerAlive(Record, tag="server_alive", kw_only=True):
    """Once a minute, and when a start restored no route because every broker had expired, or may have."""

    kind_class, fact = "boot", _SERVER

    connections: Annotated[int, stated("Open connections.", _COUNT)] = 0
    dropped_changes: Annotated[int, stated(
        "Changes dropped since the process started because the queue was full.", _COUNT)] = 0
    dropped_records: Annotated[int, stated(
        "Records of those changes, and records that were queued and then lost.", _COUNT)] = 0


class ServerStopped(Record, tag="server_stopped", kw_only=True):
    """The last record of an orderly stop."""

    kind_class, fact = "boot", _SERVER

    last_seq: Annotated[int, stated("Its own seq.", _NUMBER)]


class ClockChanged(Record, tag="clock_changed", kw_only=True):
    """The wall clock made a step of a second or more, forward or back, compared with the monotonic clock."""

    kind_class, fact = "boot", _SERVER

    step_ms: Annotated[int, stated("New minus old, in ms.", _MS)]


class CheckpointBegin(Record, tag="checkpoint_begin", kw_only=True):
    """The whole state at this position follows, in rows that have this record's seq as checkpoint."""

    kind_class, fact = "checkpoint", _CHECKPOINT

    reason: Annotated[str, stated("start, interval, recovery or retention.")]
    cluster_label: Annotated[str, stated("That of server_started: readers may begin here.", column=None)] = ""


class CheckpointEnd(Record, tag="checkpoint_end", kw_only=True):
    """The last record of a checkpoint."""

    kind_class, fact = "checkpoint", _CHECKPOINT
    meaning = (
        "The checkpoint is complete if every count is met and no seq is missing since its start; then it"
        " replaces the whole state."
    )

    counts: Annotated[Mapping[str, int], stated("Kind -> records of this checkpoint.", _COUNT)]


class SegmentsDeleted(Record, tag="segments_deleted", kw_only=True):
    """Retention deleted segments."""

    kind_class, fact = "boot", _SERVER

    segments: Annotated[list[str], stated("Their names.")]
    bytes: Annotated[int, stated("Their size on disk.", _BYTES)]
    reason: Annotated[str, stated("size or age.")]


class BrokerLive(Record, tag="broker_live", kw_only=True):
    """A live registration."""

    kind_class, fact = "state", FactTable(
        "broker_live", "Live registrations: what the row (cluster, broker_addr) is from this record on.")

    cluster: Annotated[str, stated("Cluster name.", part=_KEY)]
    broker_addr: Annotated[str, stated("host:port that the broker registered.", part=_KEY)]
    broker_name: Annotated[str, stated("Broker name.")]
    broker_id: Annotated[int, stated("0 for a master.", _NUMBER)]
    gen: Annotated[int, stated("Generation: a session of a broker is (namesrv, boot, gen).", _NUMBER)]
    new: Annotated[bool, stated("True when this record begins the generation.", part=_NOTE)] = False
    ha_server_addr: Annotated[str, stated("HA address.", null="none")] = ""
    timeout_ms: Annotated[int, stated("Silence after which it expires.", _MS)] = 0
    data_version: Annotated[tuple[int, int, int] | None, stated(
        "[state version, timestamp, counter] of its topic configuration.", _NUMBER, null="none")] = None
    channel: Annotated[int, stated(
        "Number of the connection that carries it, unique within the boot.", _NUMBER, part=_NOTE)] = 0
    remote_addr: Annotated[str, stated("Peer of that connection.", part=_NOTE, null="not known")] = ""
    body_bytes: Annotated[int, stated("Size of the registration's body on the wire.", _BYTES, part=_NOTE)] = 0
    gone: Annotated[bool, stated("True when it ended.", part=_GONE)] = False
    reason: Annotated[str, stated(
        "If gone: unregister_broker, expired, channel_closed, replaced or stale_registration.",
        part=_END)] = ""
    idle_ms: Annotated[int, stated(
        "If gone, in a checkpoint, or if the cause is restored: ms since it was last refreshed. In a"
        " checkpoint of an older version it is absent.",
        _MS, part=_END)] = 0
    closed_by: Annotated[str, stated(
        "If gone with the reason channel_closed, who closed the connection: peer, reset, idle (silent for"
        " serverChannelMaxIdleTimeSeconds), limit, protocol_error, tls, front or server. Older versions do"
        " not write it.",
        part=_END, null="not known")] = ""
    owner_host: Annotated[str, stated(
        "Host that registered it, if it is not that of remote_addr: a restored row has no connection.",
        part=_NOTE, column=None)] = ""
    owner_user: Annotated[str, stated(
        "User whose signature the registration had; absent: none that access rules know.",
        part=_NOTE, column=None)] = ""
    owner_certificate: Annotated[str, stated(
        "First name in the client certificate of its connection; absent: none.",
        part=_NOTE, column=None)] = ""


class BrokerGroup(Record, tag="broker_group", kw_only=True):
    """The whole row of a broker name."""

    kind_class, fact = "state", FactTable(
        "broker_group", "Broker names: what the row of a name is from this record on.")

    broker_name: Annotated[str, stated("Broker name.", part=_KEY)]
    cluster: Annotated[str, stated("Cluster name.", column="Cluster name; empty: none was given.")] = ""
    zone: Annotated[str | None, stated("Zone name.", null="none")] = None
    acting_master: Annotated[bool, stated("enableActingMaster.")] = False
    broker_addrs: Annotated[Mapping[int, str], stated("Broker id -> host:port.")] = {}
    gone: Annotated[bool, stated("True when the name has no members left.", part=_GONE)] = False


class Cluster(Record, tag="cluster", kw_only=True):
    """The broker names of a cluster."""

    kind_class, fact = "state", FactTable(
        "cluster_row", "Clusters: the broker names of one from this record on.")

    cluster: Annotated[str, stated("Cluster name.", part=_KEY)]
    broker_names: Annotated[list[str], stated("Its broker names, sorted; none: the cluster is gone.")] = []


class TopicQueuesRow(Struct, frozen=True, array_like=True):
    """A row of `TopicQueues`, as in effect; of a row that is gone the line has only `[topic]`."""

    topic: Annotated[str, stated("Topic.", part=_KEY)]
    read_queue_nums: Annotated[int, stated("Read queues.", _COUNT, null=_IF_GONE, is_int=True)]
    write_queue_nums: Annotated[int, stated("Write queues.", _COUNT, null=_IF_GONE, is_int=True)]
    perm: Annotated[int, stated(
        "Permission in effect: 4 read, 2 write.", _NUMBER, null=_IF_GONE, is_int=True)]
    topic_sys_flag: Annotated[int, stated("System flag.", _NUMBER, null=_IF_GONE, is_int=True)]


class TopicQueues(Record, tag="topic_queues", kw_only=True):
    """Topic rows of one broker name, at most 1,000 in a record."""

    kind_class, fact = "state", FactTable(
        "topic_row",
        "Topic rows: what the row (broker_name, topic) is from this record on. See broker_name_removed.",
        "a row of a record of kind topic_queues")

    broker_name: Annotated[str, stated("Broker name.", part=_KEY)]
    rows: Annotated[list[tuple[Any, ...]], stated(
        "Each [topic, readQueueNums, writeQueueNums, perm, topicSysFlag] as in effect, numbers bare; [topic]"
        " when the row is gone.", rows=TopicQueuesRow)]


class BrokerNameRemovedRecord(Record, tag="broker_name_removed", kw_only=True):
    """Every topic row of this broker name with an earlier position in the order is gone.

    Mappings have records of their own.
    """

    kind_class, fact = "state", FactTable(
        "broker_name_removed",
        "Ends of all topic rows of a broker name that have a smaller (boot, place, seq); not of mappings.")

    broker_name: Annotated[str, stated("Broker name.", part=_KEY)]


class TopicMapping(Record, tag="topic_mapping", kw_only=True):
    """The static-topic mapping of one topic on one broker name."""

    kind_class, fact = "state", FactTable(
        "topic_mapping", "Static-topic mappings: what the row (topic, broker_name) is from this record on.")

    topic: Annotated[str, stated("Topic.", part=_KEY)]
    broker_name: Annotated[str, stated("Broker name.", part=_KEY)]
    mapping: Annotated[Raw, stated(
        "TopicQueueMappingInfo as the wire has it.",
        null=_IF_GONE, column="TopicQueueMappingInfo as JSON text.")] = NO_MAPPING
    gone: Annotated[bool, stated("True when it ended.", part=_GONE)] = False


class FilterServers(Record, tag="filter_servers", kw_only=True):
    """Filter servers of a live broker."""

    kind_class, fact = "state", FactTable(
        "filter_servers",
        "Filter servers of live brokers: what the row (cluster, broker_addr) is from this record on.")

    cluster: Annotated[str, stated("Cluster name.", part=_KEY)]
    broker_addr: Annotated[str, stated("host:port.", part=_KEY, column="host:port of the broker.")]
    filter_servers: Annotated[list[str], stated("Their addresses; none: the row is gone.")] = []


class Kv(Record, tag="kv", kw_only=True):
    """An entry of the KV configuration."""

    kind_class, fact = "state", FactTable(
        "kv", "The KV configuration: what the entry (namespace, key) is from this record on.")

    namespace: Annotated[str, stated("Namespace.", part=_KEY)]
    key: Annotated[str, stated("Key.", part=_KEY)]
    value: Annotated[str, stated("Value.", null=_IF_GONE)] = ""
    gone: Annotated[bool, stated("True when it was deleted.", part=_GONE)] = False


class ConfigProperty(Struct, frozen=True, array_like=True):
    """An entry of `Config.properties`."""

    property: Annotated[str, stated("Name.", part=_KEY)]
    value: Annotated[str, stated("Value; *** for a secret.")]


class Config(Record, tag="config", kw_only=True):
    """Properties of the running configuration that have a new value; in a checkpoint, all that have one."""

    kind_class, fact = "state", FactTable(
        "config",
        "Properties of the running configuration: the value from this record on.",
        "a property of a record")

    properties: Annotated[Mapping[str, str], stated(
        "Name -> value; a value that is a secret is written as ***.", rows=ConfigProperty)]


# fmt: on

SERVER_KINDS: tuple[type[Record], ...] = tuple(
    kind for kind in Record.__subclasses__() if kind.kind_class in {"boot", "checkpoint"}
)
"""Kinds that say what the server did, in the order of the contract."""

STATE_KINDS: tuple[type[Record], ...] = tuple(
    kind for kind in Record.__subclasses__() if kind.kind_class == "state"
)
"""Kinds that say what a row is now, in the order of the contract."""

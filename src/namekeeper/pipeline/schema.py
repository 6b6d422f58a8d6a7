"""The fact tables: the journals row by row, deduplicated and typed; gold is made only from them.

Facts hold only complete changes: records of an incomplete change wait in `incomplete` until the missing ones
come, and lines that can't be read are in `quarantine`. So a gap in `events.seq` is unknown time, and readers
of facts need not check whether a change is complete. Times are milliseconds since 1970 by the clock of the
name server; the order is (namesrv, boot, place, seq), never `ts`.
"""

from collections.abc import Mapping

from namekeeper.pipeline.table import Column, Table, columns

__all__ = [
    "ENVELOPE",
    "EVENTS",
    "FACTS",
    "INCOMPLETE",
    "KINDS_OF",
    "LOAD_ID",
    "QUARANTINE",
]

LOAD_ID = Column("load_id", "bigint", "The run that brought the row; never used twice.")

ENVELOPE: tuple[Column, ...] = columns(
    "namesrv string: Identity of the name server that wrote the record.",
    "boot bigint: The run of its process: wall clock in ms at its start, or the boot before + 1.",
    "seq bigint: 1, 2, 3 ... within a boot. (namesrv, boot, seq) names a record.",
    "place bigint: Position in the order: for a row of a checkpoint the seq of its begin, else its own seq.",
    "checkpoint bigint: The seq of the checkpoint_begin that it belongs to; null: of no checkpoint.",
    "change bigint: The seq of the first record of its change.",
    "ts bigint: Wall clock of the name server, ms since 1970, the same for all records of a change.",
    "up_ms bigint: Monotonic ms since the boot began.",
    "cause string: The request that asked or the rule that made it; null in checkpoints and activity.",
    "peer string: [user@]host:port that asked; null: nobody asked.",
)
"""First columns of every table that holds records."""


def _of_records(name: str, meaning: str, grain: str, key: tuple[str, ...], *described: str) -> Table:
    return Table(name, meaning, grain, key, (*ENVELOPE, *columns(*described), LOAD_ID))


_RECORD = ("namesrv", "boot", "seq")

EVENTS = _of_records(
    "events",
    "Every record of every whole change, envelope only. Holes in seq are losses.",
    "a record",
    _RECORD,
    "uuid8 string: First eight digits of the UUID of the journal's folder, from the segment's name.",
    "v bigint: Version of the contract.",
    "kind string: Kind of the record.",
    "end boolean: True on the last record of a change.",
    "file string: Name of the segment that it was read from.",
)

_SERVER = _of_records(
    "server",
    "What the server's process recorded about itself: kinds server_started, server_alive, server_stopped,"
    " clock_changed and segments_deleted.",
    "a record",
    _RECORD,
    "kind string: Kind of the record.",
    "uuid8 string: As in events.",
    "uuid string: server_started: UUID of the journal's folder.",
    "server_version string: server_started: version of Namekeeper.",
    "previous_boot bigint: server_started: the boot before in that folder; null for the first.",
    "previous_seq bigint: server_started: the last seq of that boot on disk.",
    "previous_alive_ts bigint: server_started: when that boot still ran after its last record, wall ms; null:"
    " not known.",
    "scan_interval_ms bigint: server_started: interval of the expiry scan.",
    "port bigint: server_started: port that it listens at.",
    "connections bigint: server_alive: open connections.",
    "dropped_changes bigint: server_alive: changes that the journal dropped since the boot.",
    "dropped_records bigint: server_alive: their records.",
    "last_seq bigint: server_stopped: its own seq.",
    "step_ms bigint: clock_changed: new minus old time.",
    "segments array<string>: segments_deleted: names of the segments.",
    "bytes bigint: segments_deleted: their size on disk.",
    "reason string: segments_deleted: size or age.",
)

_CHECKPOINT = _of_records(
    "checkpoint",
    "Begins and ends of checkpoints. A checkpoint counts if its end is there, there are as many records with"
    " this `checkpoint` as the end says (count them in events), and no seq between is missing. Then it"
    " replaces the state.",
    "a record",
    _RECORD,
    "kind string: checkpoint_begin or checkpoint_end.",
    "reason string: checkpoint_begin: start, interval, recovery or retention.",
    "counts map<string,bigint>: checkpoint_end: kind -> records of this checkpoint.",
)

_BROKER_LIVE = _of_records(
    "broker_live",
    "Live registrations: what the row (cluster, broker_addr) is from this record on.",
    "a record",
    _RECORD,
    "cluster string: Cluster name.",
    "broker_addr string: host:port that the broker registered.",
    "broker_name string: Broker name.",
    "broker_id bigint: 0 for a master.",
    "gen bigint: Generation; a session of a broker is (namesrv, boot, gen).",
    "new boolean: True when this record begins the generation.",
    "ha_server_addr string: HA address; null: none.",
    "timeout_ms bigint: Silence after which it expires.",
    "data_version array<bigint>: [state version, timestamp, counter] of its topic configuration; null: none.",
    "channel bigint: Number of its connection within the boot.",
    "remote_addr string: Peer of that connection; null: not known.",
    "body_bytes bigint: Size of the registration's body on the wire.",
    "gone boolean: True when it ended.",
    "reason string: If gone: unregister_broker, expired, channel_closed, replaced or stale_registration.",
    "idle_ms bigint: If gone: ms since it was last refreshed.",
    "closed_by string: If its connection closed: peer, reset, idle, limit, protocol_error, tls, front or"
    " server; null: not known.",
)

_BROKER_GROUP = _of_records(
    "broker_group",
    "Broker names: what the row of a name is from this record on.",
    "a record",
    _RECORD,
    "broker_name string: Broker name.",
    "cluster string: Cluster name; empty: none was given.",
    "zone string: Zone name; null: none.",
    "acting_master boolean: enableActingMaster.",
    "broker_addrs map<string,string>: Broker id -> host:port.",
    "gone boolean: True when the name has no members left.",
)

_CLUSTER_ROW = _of_records(
    "cluster_row",
    "Clusters: the broker names of one from this record on.",
    "a record",
    _RECORD,
    "cluster string: Cluster name.",
    "broker_names array<string>: Its broker names, sorted.",
    "gone boolean: True when it has none left.",
)

_TOPIC_ROW = _of_records(
    "topic_row",
    "Topic rows: what the row (broker_name, topic) is from this record on. See broker_name_removed.",
    "a row of a record of kind topic_queues",
    (*_RECORD, "topic"),
    "broker_name string: Broker name.",
    "topic string: Topic.",
    "read_queue_nums int: Read queues; null if gone.",
    "write_queue_nums int: Write queues; null if gone.",
    "perm int: Permission in effect: 4 read, 2 write; null if gone.",
    "topic_sys_flag int: System flag; null if gone.",
    "gone boolean: True when the row ended.",
)

_BROKER_NAME_REMOVED = _of_records(
    "broker_name_removed",
    "Ends of all topic rows of a broker name that have a smaller (boot, place, seq); not of mappings.",
    "a record",
    _RECORD,
    "broker_name string: Broker name.",
)

_TOPIC_MAPPING = _of_records(
    "topic_mapping",
    "Static-topic mappings: what the row (topic, broker_name) is from this record on.",
    "a record",
    _RECORD,
    "topic string: Topic.",
    "broker_name string: Broker name.",
    "mapping string: TopicQueueMappingInfo as JSON text; null if gone.",
    "gone boolean: True when it ended.",
)

_FILTER_SERVERS = _of_records(
    "filter_servers",
    "Filter servers of live brokers: what the row (cluster, broker_addr) is from this record on.",
    "a record",
    _RECORD,
    "cluster string: Cluster name.",
    "broker_addr string: host:port of the broker.",
    "filter_servers array<string>: Their addresses.",
    "gone boolean: True when there are none.",
)

_KV = _of_records(
    "kv",
    "The KV configuration: what the entry (namespace, key) is from this record on.",
    "a record",
    _RECORD,
    "namespace string: Namespace.",
    "key string: Key.",
    "value string: Value; null if gone.",
    "gone boolean: True when it was deleted.",
)

_CONFIG = _of_records(
    "config",
    "Properties of the running configuration: the value from this record on.",
    "a property of a record",
    (*_RECORD, "property"),
    "property string: Name.",
    "value string: Value; *** for a secret.",
)

_BROKER_MINUTE = _of_records(
    "broker_minute",
    "Signs of life of one session in one minute; several rows of one minute add up.",
    "a record",
    _RECORD,
    "cluster string: Cluster name.",
    "broker_addr string: host:port of the broker.",
    "broker_name string: Broker name.",
    "broker_id bigint: 0 for a master.",
    "gen bigint: Generation.",
    "minute bigint: Start of the minute, wall ms.",
    "last_seen bigint: Wall ms of the last sign of life in it; null: not known.",
    "count bigint: Signs of life (103, 322, 904).",
    "registrations bigint: How many of them were 103.",
    "max_gap_ms bigint: The longest silence that one of them ended.",
    "gaps array<bigint>: Silences under 1, 5, 10, 20, 35, 65, 125 s (not under the one before), and longer.",
    "body_bytes bigint: The largest registration body.",
)

_LOOKUP_HOUR = _of_records(
    "lookup_hour",
    "Route look-ups of known topics; several rows of one hour add up.",
    "a topic of a record",
    (*_RECORD, "topic"),
    "hour bigint: Start of the hour, wall ms.",
    "topic string: Topic; empty: no topic, but all others of the hour, which the server did not count by name"
    " because the names took 32 MiB.",
    "count bigint: Look-ups.",
)

_UNKNOWN_TOPIC_MINUTE = _of_records(
    "unknown_topic_minute",
    "Route look-ups of topics that had no route; several rows of one minute add up.",
    "a record",
    _RECORD,
    "minute bigint: Start of the minute, wall ms.",
    "topic string: Topic; null under other and invalid.",
    "bucket string: other: more topics than are counted apart; invalid: not a name; else null.",
    "language string: Client language; null: not known.",
    "client_version bigint: Client version number.",
    "count bigint: Look-ups.",
)

_DENIED = _of_records(
    "denied",
    "Requests that were refused, counted by code and peer host.",
    "a record",
    _RECORD,
    "code bigint: Request code.",
    "host string: Peer host; null: several.",
    "reason string: Why.",
    "count bigint: How many since the last such record.",
)

_ACCESS = _of_records(
    "access",
    "What access rules said of admin requests, and of registrations and unregistrations that were refused or"
    " of a broker that was not there; and what protectBrokerNames refused.",
    "a record",
    _RECORD,
    "code bigint: Request code.",
    "allowed boolean: Whether the rules allow it.",
    "rule string: Name of the rule that decided, or protectBrokerNames; null: no rule covers the request.",
    "mode string: enforce, or audit: a refusal was only noted.",
    "user string: User whose signature was right; null: nobody is proved.",
    "claimed string: User that the request names without a proof; null: none.",
    "certificate string: Subject of the client certificate; null: there was none.",
    "about array<string>: Names that the request is about, such as topics=T.",
    "count bigint: Requests: 1, or more where they are counted together.",
)

INCOMPLETE = Table(
    "incomplete",
    "Records of changes of which something is missing. They count for nothing; when the rest comes, a later"
    " run puts the whole change into the facts, and what is here stays.",
    "a record",
    ("namesrv", "uuid8", "boot", "seq"),
    (
        *columns(
            "namesrv string: As in events.",
            "uuid8 string: As in events.",
            "boot bigint: As in events.",
            "seq bigint: As in events.",
            "change bigint: As in events.",
            "kind string: As in events.",
            "file string: Segment that it was read from.",
            "record string: The record as JSON.",
        ),
        LOAD_ID,
    ),
)

QUARANTINE = Table(
    "quarantine",
    "Lines that can't be taken, and segments in which records are missing.",
    "a line, or a segment",
    (),
    (
        *columns(
            "namesrv string: Name server, from the segment's name.",
            "uuid8 string: From the segment's name.",
            "boot bigint: From the segment's name.",
            "file string: Name of the segment.",
            "reason string: unreadable, altered, malformed, unknown_version or incomplete_segment.",
            "detail string: What is wrong, in words.",
            "line string: The line, at most 65,536 characters of it; null for a segment.",
            "length bigint: Characters of the line.",
        ),
        LOAD_ID,
    ),
)

KINDS_OF: Mapping[str, tuple[str, ...]] = {
    "server": ("server_started", "server_alive", "server_stopped", "clock_changed", "segments_deleted"),
    "checkpoint": ("checkpoint_begin", "checkpoint_end"),
    "broker_live": ("broker_live",),
    "broker_group": ("broker_group",),
    "cluster_row": ("cluster",),
    "topic_row": ("topic_queues",),
    "broker_name_removed": ("broker_name_removed",),
    "topic_mapping": ("topic_mapping",),
    "filter_servers": ("filter_servers",),
    "kv": ("kv",),
    "config": ("config",),
    "broker_minute": ("broker_minute",),
    "lookup_hour": ("lookup_hour",),
    "unknown_topic_minute": ("unknown_topic_minute",),
    "denied": ("denied",),
    "access": ("access",),
}
"""Table -> kinds of records that it is made of; `events` has all."""

FACTS: Mapping[str, Table] = {
    table.name: table
    for table in (
        EVENTS, _SERVER, _CHECKPOINT, _BROKER_LIVE, _BROKER_GROUP, _CLUSTER_ROW, _TOPIC_ROW,
        _BROKER_NAME_REMOVED, _TOPIC_MAPPING, _FILTER_SERVERS, _KV, _CONFIG, _BROKER_MINUTE, _LOOKUP_HOUR,
        _UNKNOWN_TOPIC_MINUTE, _DENIED, _ACCESS, INCOMPLETE, QUARANTINE,
    )
}  # fmt: skip
"""Every fact table by its name."""

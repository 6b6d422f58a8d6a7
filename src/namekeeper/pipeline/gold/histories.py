"""The definitions of all histories: meaning, key, values and columns."""

from namekeeper.pipeline.gold.history import History
from namekeeper.pipeline.table import Column, Table, columns

__all__ = ["DRIFTS", "HISTORIES", "TIMELINE", "TOPIC_ROUTE"]

_VALID = columns(
    "valid_from bigint: From when on, effective ms (see docs/reference/warehouse.md).",
    "valid_to bigint: Until when, not included; null: the row still holds, as far as is known.",
)
_EVIDENCE = columns(
    "from_boot bigint: Boot of the record that began it.",
    "from_seq bigint: Position of that record; for a row of a checkpoint the seq of its begin.",
    "from_cause string: Request or rule that made it; null: a checkpoint found it so.",
    "from_peer string: [user@]host:port that asked; null: nobody did, or a checkpoint found it so.",
    "ended_by string: gone; changed; checkpoint: it was not named; unknown: records were lost; stopped: the"
    " name server was; null: open.",
    "to_boot bigint: Boot of the record that ended it, null: open.",
    "to_seq bigint: Position of that record; if ended_by is unknown the first that is missing.",
    "to_cause string: Request or rule that ended it.",
    "to_peer string: [user@]host:port that asked for its end.",
)
_DAY = columns(
    "valid_to_day string: Day of valid_to in the warehouse's time zone, open without one; partitions the"
    " table."
)
_NAMESRV = columns("namesrv string: Name server that had it.")


def _history(
    name: str,
    meaning: str,
    fact: str,
    key: tuple[str, ...],
    values: tuple[str, ...],
    *described: str,
    closing: tuple[Column, ...] = (),
) -> History:
    own = columns(*described)
    assert tuple(column.name for column in own) == key + values, name
    of_table = (*_NAMESRV, *own, *_VALID, *_EVIDENCE, *closing, *_DAY)
    table = Table(
        name, meaning, "a value and the time during which it held", ("namesrv", *key, "valid_from"), of_table
    )
    return History(table, fact, key, values, tuple(column.name for column in closing))


_END_OF_SESSION = columns(
    "reason string: If gone: unregister_broker, expired, channel_closed, replaced or stale_registration.",
    "idle_ms bigint: If gone: ms since it was last refreshed.",
    "closed_by string: If its connection closed: peer, reset, idle, limit, protocol_error, tls, front or"
    " server; null: not known.",
)

TOPIC_ROUTE = _history(
    "topic_route",
    "Topic rows: the queues of a topic on a broker name, as in effect.",
    "topic_recorded",
    ("broker_name", "topic"),
    ("read_queue_nums", "write_queue_nums", "perm", "topic_sys_flag"),
    "broker_name string: Broker name.",
    "topic string: Topic.",
    "read_queue_nums int: Read queues.",
    "write_queue_nums int: Write queues.",
    "perm int: Permission in effect: 4 read, 2 write.",
    "topic_sys_flag int: System flag.",
    closing=columns("reason string: broker_name_removed if it went with its broker name."),
)._replace(checkpoint_run="checkpoint_run", run_key=("broker_name", "bucket"))

HISTORIES: tuple[History, ...] = (
    _history(
        "broker_session",
        "Live registrations. A session is (namesrv, boot, gen); one that goes on after unknown time has a row"
        " for each known period.",
        "broker_live",
        ("cluster", "broker_addr"),
        ("broker_name", "broker_id", "boot", "gen"),
        "cluster string: Cluster name.",
        "broker_addr string: host:port that the broker registered.",
        "broker_name string: Broker name.",
        "broker_id bigint: 0 for a master.",
        "boot bigint: Boot of the name server.",
        "gen bigint: Generation; a new one for each connection.",
        closing=_END_OF_SESSION,
    ),
    _history(
        "broker_address",
        "What a broker registered with: a row of broker_session for each data version and address.",
        "broker_live",
        ("cluster", "broker_addr"),
        ("broker_name", "broker_id", "boot", "gen", "ha_server_addr", "timeout_ms", "data_version"),
        "cluster string: Cluster name.",
        "broker_addr string: host:port that the broker registered.",
        "broker_name string: Broker name.",
        "broker_id bigint: 0 for a master.",
        "boot bigint: Boot of the name server.",
        "gen bigint: Generation.",
        "ha_server_addr string: HA address; null: none.",
        "timeout_ms bigint: Silence after which it expires.",
        "data_version array<bigint>: [state version, timestamp, counter] of its topic configuration.",
        closing=_END_OF_SESSION,
    ),
    _history(
        "broker_group_history",
        "Broker names: their members by id.",
        "broker_group_recorded",
        ("broker_name",),
        ("cluster", "zone", "acting_master", "members"),
        "broker_name string: Broker name.",
        "cluster string: Cluster name.",
        "zone string: Zone name; null: none.",
        "acting_master boolean: enableActingMaster.",
        "members array<struct<broker_id:bigint,broker_addr:string>>: Its brokers, by id.",
    ),
    _history(
        "cluster_history",
        "Clusters: their broker names.",
        "cluster_row",
        ("cluster",),
        ("broker_names",),
        "cluster string: Cluster name.",
        "broker_names array<string>: Broker names, sorted.",
    ),
    TOPIC_ROUTE,
    _history(
        "topic_mapping_history",
        "Static-topic mappings.",
        "topic_mapping",
        ("topic", "broker_name"),
        ("mapping",),
        "topic string: Topic.",
        "broker_name string: Broker name.",
        "mapping string: TopicQueueMappingInfo as JSON text.",
    ),
    _history(
        "filter_server_history",
        "Filter servers of live brokers.",
        "filter_servers",
        ("cluster", "broker_addr"),
        ("filter_servers",),
        "cluster string: Cluster name.",
        "broker_addr string: host:port of the broker.",
        "filter_servers array<string>: Their addresses.",
    ),
    _history(
        "kv_history",
        "The KV configuration.",
        "kv",
        ("namespace", "key"),
        ("value",),
        "namespace string: Namespace.",
        "key string: Key.",
        "value string: Value.",
    ),
    _history(
        "config_history",
        "Properties of the running configuration.",
        "config_recorded",
        ("property",),
        ("value",),
        "property string: Name.",
        "value string: Value; *** for a secret.",
    ),
)
"""Histories of rows that each name server recorded."""

TIMELINE = History(
    Table(
        "name_server_timeline",
        "What is known of a name server: up, its tables are known; unknown, records were lost; stopped."
        " Before its first complete checkpoint there is no row.",
        "a period of time",
        ("namesrv", "valid_from"),
        (
            *columns(
                "namesrv string: Identity of the name server.",
                "state string: up, unknown or stopped.",
                "boot bigint: If up: its boot.",
            ),
            *_VALID,
            *_EVIDENCE,
            *_DAY,
        ),
    ),
    "",
    (),
    ("state", "boot"),
)

_DRIFT = columns(
    "valid_from bigint: From when on, ms, by clocks that were corrected.",
    "valid_to bigint: Until when, not included.",
    "from_namesrv string: A name server whose change began it.",
    "from_ts bigint: The same time by the clock of from_namesrv.",
    "to_namesrv string: A name server whose change ended it.",
    "to_ts bigint: The same time by the clock of to_namesrv.",
    "is_open boolean: True: it lasted when the journal of one of them ended; what follows is not known yet.",
    "valid_to_day string: Day of valid_to in the warehouse's time zone; partitions the table.",
)


def _drift(
    name: str, meaning: str, key: tuple[str, ...], values: tuple[str, ...], *described: str
) -> History:
    own = columns(*described)
    assert tuple(column.name for column in own) == key + values, name
    table = Table(
        name,
        meaning,
        "a difference and the time during which it lasted",
        (*key, "valid_from"),
        (*own, *_DRIFT),
    )
    began, ended = ("from_namesrv", "from_ts"), ("to_namesrv", "to_ts", "is_open")
    return History(
        table, "", key, values, (), (), began, ended, recompute="recompute_window", kept="kept_window"
    )


DRIFTS: tuple[History, ...] = (
    _drift(
        "view_drift_broker",
        "When name servers disagreed for 5 seconds or more about whether a broker is there. Only witnesses"
        " are compared: name servers that were up and known, had seen the cluster within 7 days, and had"
        " either seen the broker since their start or been up for 120 s.",
        ("cluster", "broker_name", "broker_id", "broker_addr"),
        ("held_by", "missing_at"),
        "cluster string: Cluster name.",
        "broker_name string: Broker name.",
        "broker_id bigint: 0 for a master.",
        "broker_addr string: host:port of the broker.",
        "held_by array<string>: Name servers at which it was registered, sorted.",
        "missing_at array<string>: Witnesses at which it was not, sorted.",
    ),
    _drift(
        "view_drift_topic",
        "When name servers that knew a broker name disagreed for 5 seconds or more about one of its topics.",
        ("cluster", "broker_name", "topic"),
        ("views",),
        "cluster string: Cluster name.",
        "broker_name string: Broker name.",
        "topic string: Topic.",
        "views array<string>: What each name server had, sorted: name server, then queues, or absent.",
    ),
)
"""Histories of differences between name servers."""

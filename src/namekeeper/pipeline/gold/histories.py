"""The definitions of all histories: meaning, key, values and columns."""

from namekeeper.pipeline.gold.history import HistoryTable
from namekeeper.pipeline.row_columns import row_columns
from namekeeper.pipeline.table import Column, Table, columns

__all__ = ["DRIFTS", "HISTORIES", "TIMELINE", "TOPIC_ROUTE"]

_VALID = columns(
    "valid_from bigint: From when on, effective ms (see docs/reference/warehouse.md).",
    "valid_to bigint: Until when, not included; null: the row still holds, as far as is known.",
)
_EVIDENCE = columns(
    "from_boot bigint: Boot of the record that began it.",
    "from_seq bigint: Position of that record; for a row of a checkpoint the seq of its start.",
    "from_cause string: Request or rule that made it; null: a checkpoint found it so.",
    "from_peer string: [user@]host:port that asked; null: nobody did, or a checkpoint found it so.",
    "from_window_ms bigint: It began up to this long before valid_from: an observer recorded that; null:"
    " exact, or a checkpoint found it so.",
    "ended_by string: gone; changed; checkpoint: it was not named; unknown: records were lost; stopped: the"
    " name server was; null: open.",
    "to_boot bigint: Boot of the record that ended it, null: open.",
    "to_seq bigint: Position of that record; if ended_by is unknown the first that is missing.",
    "to_cause string: Request or rule that ended it.",
    "to_peer string: [user@]host:port that asked for its end.",
    "to_window_ms bigint: It ended up to this long before valid_to: an observer recorded that; null: exact.",
)
_DAY = columns(
    "valid_to_day string: Day of valid_to in the warehouse's time zone, open without one; partitions the"
    " table."
)
_NAMESRV = columns("namesrv string: Name server that had it.")


_BOOT = Column("boot", "bigint", "Boot of the name server.")


def _history(
    name: str,
    meaning: str,
    rows: str,
    *,
    fact: str | None = None,
    values: tuple[Column, ...] | None = None,
    end: tuple[Column, ...] = (),
) -> HistoryTable:
    """The history of the rows of a state kind.

    Args:
        name: Of its table.
        meaning: Of its table.
        rows: The fact table of the kind.
        fact: View or fact with the records; None: the fact table itself.
        values: Columns of values; None: every one that the contract states.
        end: Columns that say how a row ended, besides those that the contract states.
    """
    key, end = row_columns(rows, "key"), (*row_columns(rows, "end"), *end)
    values = row_columns(rows, "value") if values is None else values
    of_table = (*_NAMESRV, *key, *values, *_VALID, *_EVIDENCE, *end, *_DAY)
    names = tuple(column.name for column in key)
    grain = "a value and the time during which it held"
    table = Table(name, meaning, grain, ("namesrv", *names, "valid_from"), of_table)
    return HistoryTable(
        table,
        fact or rows,
        names,
        tuple(column.name for column in values),
        tuple(column.name for column in end),
    )


def _session_values(*, is_whole: bool) -> tuple[Column, ...]:
    """Values of a live registration: those that identify its session, and the others if `is_whole`."""
    values = {column.name: column for column in row_columns("broker_live", "value")}
    session = (values.pop("broker_name"), values.pop("broker_id"), _BOOT, values.pop("gen"))
    return (*session, *(values.values() if is_whole else ()))


TOPIC_ROUTE = _history(
    "topic_route",
    "Topic rows: the queues of a topic on a broker name, as in effect.",
    "topic_row",
    fact="topic_recorded",
    end=columns("reason string: broker_name_removed if it went with its broker name."),
)._replace(checkpoint_run="checkpoint_run", run_key=("broker_name", "bucket"))

HISTORIES: tuple[HistoryTable, ...] = (
    _history(
        "broker_session",
        "Live registrations. A session is (namesrv, boot, gen); one that goes on after unknown time has a row"
        " for each known period.",
        "broker_live",
        values=_session_values(is_whole=False),
    ),
    _history(
        "broker_address",
        "The registration data of a broker: a row of broker_session for each data version and address.",
        "broker_live",
        values=_session_values(is_whole=True),
    ),
    _history(
        "broker_group_history",
        "Broker names: their members by id.",
        "broker_group",
        fact="broker_group_recorded",
    ),
    _history("cluster_history", "Clusters: their broker names.", "cluster_row"),
    TOPIC_ROUTE,
    _history("topic_mapping_history", "Static-topic mappings.", "topic_mapping"),
    _history("filter_server_history", "Filter servers of live brokers.", "filter_servers"),
    _history("kv_history", "The KV configuration.", "kv"),
    _history("config_history", "Properties of the running configuration.", "config", fact="config_recorded"),
)
"""Histories of rows that each name server recorded."""

TIMELINE = HistoryTable(
    Table(
        "name_server_timeline",
        "The state of a name server: up, its tables are known; unknown, records were lost; stopped."
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

_LABEL = (
    "cluster_label string: Label of the cluster of name servers; null: none, or an earlier version made the"
    " row."
)
_DRIFT = columns(
    "valid_from bigint: From when on, ms, by clocks that were corrected.",
    "valid_to bigint: Until when, not included.",
    "from_namesrv string: A name server whose change began it.",
    "from_ts bigint: The same time by the clock of from_namesrv.",
    "from_window_ms bigint: It began up to this long before valid_from: from_namesrv is observed; null:"
    " exact.",
    "to_namesrv string: A name server whose change ended it.",
    "to_ts bigint: The same time by the clock of to_namesrv.",
    "to_window_ms bigint: It ended up to this long before valid_to: to_namesrv is observed; null: exact.",
    "is_open boolean: True: it lasted when the journal of one of them ended; what follows is not known yet.",
    "valid_to_day string: Day of valid_to in the warehouse's time zone; partitions the table.",
)


def _drift(
    name: str, meaning: str, key: tuple[str, ...], values: tuple[str, ...], *described: str
) -> HistoryTable:
    own = columns(*described)
    assert tuple(column.name for column in own) == key + values, name
    table = Table(
        name,
        meaning,
        "a difference and the time during which it lasted",
        (*key, "valid_from"),
        (*own, *_DRIFT),
    )
    began, ended = (
        ("from_namesrv", "from_ts", "from_window_ms"),
        ("to_namesrv", "to_ts", "to_window_ms", "is_open"),
    )
    return HistoryTable(
        table,
        "",
        key,
        values,
        (),
        (),
        began,
        ended,
        recompute="recompute_window",
        kept="kept_window",
        certain_to="(valid_to - coalesce(to_window_ms, 0))",
    )


DRIFTS: tuple[HistoryTable, ...] = (
    _drift(
        "view_drift_broker",
        "When name servers disagreed for 5 seconds or more, outside of the windows of observed ones, about"
        " whether a broker is there. Only witnesses are compared: name servers that were up and known, had"
        " seen the cluster within 7 days, and had either seen the broker since their start or been up for"
        " 120 s. They are of one cluster of name servers: those with one label, or that shared a broker"
        " address within 7 days, directly or through others.",
        ("cluster_label", "cluster", "broker_name", "broker_id", "broker_addr"),
        ("held_by", "missing_at"),
        _LABEL,
        "cluster string: Cluster name.",
        "broker_name string: Broker name.",
        "broker_id bigint: 0 for a master.",
        "broker_addr string: host:port of the broker.",
        "held_by array<string>: Name servers at which it was registered, sorted.",
        "missing_at array<string>: Witnesses at which it was not, sorted.",
    ),
    _drift(
        "view_drift_topic",
        "When name servers of one cluster (see view_drift_broker) that knew a broker name disagreed for 5"
        " seconds or more, outside of the windows of observed ones, about one of its topics.",
        ("cluster_label", "cluster", "broker_name", "topic"),
        ("views",),
        _LABEL,
        "cluster string: Cluster name.",
        "broker_name string: Broker name.",
        "topic string: Topic.",
        "views array<string>: What each name server had, sorted: name server, then queues, or absent.",
    ),
)
"""Histories of differences between name servers."""

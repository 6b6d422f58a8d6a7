"""Every gold table: its meaning, grain, key and columns."""

from collections.abc import Mapping

from namekeeper.pipeline.gold.histories import DRIFTS, HISTORIES, TIMELINE
from namekeeper.pipeline.table import Column, Table, columns, names_in

__all__ = [
    "BY_DAY",
    "GOLD",
    "INCIDENT",
    "KNOWN_SPAN",
    "LOST_RECORDS",
    "NAME_SERVER_LABEL_DAILY",
    "NAME_SERVER_SESSION",
    "partition_column",
]

_DAY = Column("day", "string", "Day in the warehouse's time zone, as 2026-03-01; partitions the table.")
_LABEL = columns(
    "cluster_label string: Label of the cluster of name servers; null: none, or an earlier version made the"
    " row."
)
_BROKER = columns(
    "cluster string: Cluster name.",
    "broker_name string: Broker name.",
    "broker_id bigint: 0 for a master.",
)

KNOWN_SPAN = Table(
    "known_span",
    "Complete checkpoints: from each the state is known until the next, a loss or a stop.",
    "a complete checkpoint",
    ("namesrv", "boot", "begin_seq"),
    columns(
        "namesrv string: Name server.",
        "boot bigint: Its boot.",
        "begin_seq bigint: The seq of checkpoint_begin.",
        "end_seq bigint: The seq of checkpoint_end.",
        "from_ts bigint: Effective ms of the start.",
    ),
)

LOST_RECORDS = Table(
    "lost_records",
    "Losses: records that are missing, and the time that is unknown because of each.",
    "a gap in the order",
    ("namesrv", "boot", "first_seq"),
    columns(
        "namesrv string: Name server.",
        "boot bigint: Boot in which the first missing record would be.",
        "first_seq bigint: Its seq.",
        "next_boot bigint: Boot of the first record after the gap.",
        "next_seq bigint: Its seq.",
        "reason string: missing_records; no_stop: the boot ended without server_stopped; missing_boot: one"
        " between two boots; missing_start: the first records of next_boot.",
        "lost_records bigint: How many are missing for certain; after a crash there may have been more.",
        "unknown_from bigint: Effective ms of the last record before it; after a crash, when the server still"
        " ran.",
        "unknown_to bigint: Effective ms of the next complete checkpoint; null: there is none yet.",
    ),
)

NAME_SERVER_SESSION = Table(
    "name_server_session",
    "Boots of name servers, with what was lost of each.",
    "a boot",
    ("namesrv", "boot"),
    columns(
        "namesrv string: Name server.",
        "boot bigint: Its boot: wall ms at its start, or the boot before + 1.",
        "uuid string: UUID of its journal's folder; null: its first record is not there.",
        "server_version string: Version of Namekeeper.",
        "port bigint: Port that it listened at.",
        "previous_boot bigint: The boot before, as the server recorded it; null: the first, or not known.",
        "first_seq bigint: Smallest seq that is there.",
        "last_seq bigint: Position of its last record in the order.",
        "first_ts bigint: Effective ms of its first record.",
        "ended_by string: stopped; crashed: there is a later boot, and no stop; not observed: a period of"
        " observation, and there is a later one; running: as far as is known.",
        "knows_up_to bigint: ts of its last record in the order: later than this nothing is known yet.",
        "losses bigint: Gaps in the order.",
        "lost_records bigint: Records that are missing for certain.",
        "unknown_ms bigint: Time that is unknown because of them; not counted while no checkpoint ended it.",
        "dropped_changes bigint: Changes that the server recorded as dropped.",
        "dropped_records bigint: Their records.",
        "clock_steps bigint: Steps of the wall clock.",
        "clock_back_ms bigint: The largest step back.",
        "hidden_ms bigint: The longest time that a step back hides: its records have no time of their own.",
        "cluster_label string: Label of the cluster that it belongs to; null: none, or its first record is"
        " missing.",
        "clock_offset_ms bigint: How far its clock was off when that was measured last; null: not yet.",
    ),
)

_BROKER_STATE_DAILY = Table(
    "broker_state_daily",
    "The states of each broker with their times, cut at midnight: up if any witness has it registered, down"
    " if none has, unregistered if none has because it asked for that, unknown without a witness. The broker"
    " is forgotten 7 days after its last registration.",
    "a state of a broker within a day",
    ("day", "cluster_label", "cluster", "broker_name", "broker_id", "valid_from"),
    (
        _DAY,
        *_BROKER,
        *columns(
            "state string: up, down, unregistered or unknown.",
            "valid_from bigint: From when on, ms.",
            "valid_to bigint: Until when, not included.",
            "began_at bigint: When the state began, also if that was on a day before; at most 7 days before"
            " this day began.",
            "witnesses bigint: Name servers that were witnesses, the largest number meanwhile.",
            "uncertain_ms bigint: Time at its end in which the next state may have begun: the window of an"
            " observer; null: none.",
        ),
        *_LABEL,
    ),
)

_BROKER_AVAILABILITY_DAILY = Table(
    "broker_availability_daily",
    "How long each broker was up, down and unknown on each day. Neither up nor down is unknown time, and time"
    " after a broker unregistered, which broker_state_daily has.",
    "a broker and day",
    ("day", "cluster_label", "cluster", "broker_name", "broker_id"),
    (
        _DAY,
        *_BROKER,
        *columns(
            "up_ms bigint: Time up.",
            "down_ms bigint: Time down.",
            "unknown_ms bigint: Time without a witness.",
            "outages bigint: Times down that began on this day.",
            "longest_outage_ms bigint: The longest time down within this day.",
            "witnesses bigint: Name servers that were witnesses, the largest number.",
            "uncertain_ms bigint: Part of up_ms and down_ms that may belong to the other: time within windows"
            " of observed name servers; null: none.",
        ),
        *_LABEL,
    ),
)

_BROKER_FLAP = Table(
    "broker_flap",
    "Hours in which a broker went down or a registration of it ended.",
    "a broker and hour",
    ("day", "cluster_label", "cluster", "broker_name", "broker_id", "hour"),
    (
        _DAY,
        *_BROKER,
        *columns(
            "hour bigint: Start of the hour, ms.",
            "outages bigint: How often it went down.",
            "sessions_ended bigint: Registrations that ended, over all name servers.",
        ),
        *_LABEL,
    ),
)

_HEARTBEAT_GAP_DAILY = Table(
    "heartbeat_gap_daily",
    "Signs of life of each session on each day, and the silences between them.",
    "a session and day",
    ("day", "namesrv", "boot", "gen"),
    (
        _DAY,
        *columns(
            "namesrv string: Name server.",
            "boot bigint: Its boot.",
            "gen bigint: Generation.",
        ),
        *_BROKER,
        *columns(
            "broker_addr string: host:port of the broker.",
            "minutes bigint: Minutes with a sign of life.",
            "heartbeats bigint: Signs of life (103, 322, 904).",
            "registrations bigint: How many of them were 103.",
            "max_gap_ms bigint: The longest silence.",
            "last_seen bigint: The last sign of life, wall ms.",
            "under_1s bigint: Silences of under 1 s.",
            "under_5s bigint: Of 1 s to under 5 s.",
            "under_10s bigint: Of 5 s to under 10 s.",
            "under_20s bigint: Of 10 s to under 20 s.",
            "under_35s bigint: Of 20 s to under 35 s.",
            "under_65s bigint: Of 35 s to under 65 s.",
            "under_125s bigint: Of 65 s to under 125 s.",
            "longer bigint: Of 125 s and longer.",
            "body_bytes bigint: The largest registration body.",
        ),
    ),
)

_TOPIC_AVAILABILITY_DAILY = Table(
    "topic_availability_daily",
    "How long each topic could be written to on each day, as the best of its witnesses saw it. Topics"
    " rmq_sys_SYNC_BROKER_MEMBER_* are left out, here and in the tables of outages and incidents: nobody"
    " writes to them.",
    "a topic of a cluster and day",
    ("day", "cluster_label", "cluster", "topic"),
    (
        _DAY,
        *columns(
            "cluster string: Cluster name.",
            "topic string: Topic.",
            "writable_ms bigint: A master had a writable queue of it.",
            "unwritable_ms bigint: There was a route, but no queue to write to.",
            "no_route_ms bigint: There was no route though it had not been deleted.",
            "unknown_ms bigint: There was no witness.",
            "worst_namesrv string: The witness at which it could not be written to for longest; null: it"
            " always could at each of them, or an earlier version made the row.",
            "worst_ms bigint: How long it could not be written to there, though it was expected; null: an"
            " earlier version made the row.",
            "uncertain_ms bigint: Part of writable_ms, unwritable_ms and no_route_ms that may belong to"
            " another of them: time within windows of observed name servers; null: none.",
        ),
        *_LABEL,
    ),
)

_CAPACITY_DAILY = Table(
    "capacity_daily",
    "The topics and queues of each broker name at the end of a day, or when it was last known on that day.",
    "a broker name at a name server and day",
    ("day", "namesrv", "broker_name"),
    (
        _DAY,
        *columns(
            "namesrv string: Name server.",
            "cluster string: Cluster name.",
            "broker_name string: Broker name.",
            "at_ts bigint: The time of this row, ms.",
            "topics bigint: Its topics.",
            "read_queues bigint: Read queues of all its topics.",
            "write_queues bigint: Write queues of all its topics.",
            "writable_topics bigint: Topics with permission and queues to write to, under a master.",
            "body_bytes bigint: The largest registration of the day, on the wire; null: not known.",
            "frame_used double: body_bytes as a share of the 16 MiB that a frame may have.",
        ),
    ),
)

_CHANGE_LOG = Table(
    "change_log",
    "The changes, with their times and peers; also in time that is otherwise unknown.",
    "a record, and a broker name of it",
    ("namesrv", "boot", "seq"),
    (
        _DAY,
        *columns(
            "at_ts bigint: Effective ms.",
            "ts bigint: Wall ms as the name server wrote it.",
            "namesrv string: Name server.",
            "boot bigint: Its boot.",
            "seq bigint: Seq of the record.",
            "cause string: The request or rule.",
            "peer string: [user@]host:port that asked; null: nobody did.",
            "kind string: broker_live, topic_queues, broker_name_removed, topic_mapping, filter_servers,"
            " kv, config or server.",
            "action string: What was done: registered, changed, gone, started, stopped, or why a broker is"
            " gone.",
            "cluster string: Cluster name; null: none is changed.",
            "broker_name string: Broker name; null: none is changed.",
            "broker_addr string: host:port of the broker; null: none is changed.",
            "topic string: Topic; null: none or several are changed.",
            "items int: How many rows or properties were changed.",
            "detail string: More about the change, as text.",
            "window_ms bigint: It happened up to this long before at_ts: an observer recorded it; null:"
            " exact.",
        ),
    ),
)

_NAME_SERVER_CLOCK_DAILY = Table(
    "name_server_clock_daily",
    "How far the clock of a name server was from the others, by registrations that several of them saw.",
    "a name server and day",
    ("day", "namesrv"),
    (
        _DAY,
        *columns(
            "namesrv string: Name server.",
            "offset_ms bigint: Its clock minus the median of those that saw the same; 0 unless measured.",
            "samples bigint: Registrations that were compared.",
            "is_measured boolean: Whether there were at least 5.",
        ),
    ),
)

_PROPAGATION_LAG = Table(
    "propagation_lag",
    "How long it took until the name servers that took part knew of a change of a registered broker's topics."
    " A difference of 120 s or more is no propagation but drift.",
    "a data version of a broker",
    ("day", "cluster_label", "cluster", "broker_addr", "data_version"),
    (
        _DAY,
        *columns(
            "cluster string: Cluster name.",
            "broker_addr string: host:port of the broker.",
            "data_version array<bigint>: [state version, timestamp, counter] of its topic configuration.",
            "name_servers bigint: How many saw it.",
            "first_at bigint: When the first did, ms, by clocks that were corrected.",
            "last_at bigint: When the last did.",
            "lag_ms bigint: The time between.",
            "first_namesrv string: Who was the first.",
            "last_namesrv string: Who was the last.",
            "first_ts bigint: The smallest time as they wrote it.",
            "last_ts bigint: The largest.",
        ),
        *_LABEL,
    ),
)

_UNKNOWN_TOPIC_DAILY = Table(
    "unknown_topic_daily",
    "Topics that clients asked for and that did not exist.",
    "a topic, a kind of client and a day",
    ("day", "namesrv", "topic", "bucket", "language", "client_version"),
    (
        _DAY,
        *columns(
            "namesrv string: Name server.",
            "topic string: Topic; null under other and invalid.",
            "bucket string: other: more topics than are counted apart; invalid: not a name; else null.",
            "language string: Client language.",
            "client_version bigint: Client version number.",
            "lookups bigint: How often.",
            "first_minute bigint: Start of the first minute, wall ms.",
            "last_minute bigint: Start of the last minute.",
        ),
    ),
)

_TOPIC_OUTAGE_DAILY = Table(
    "topic_outage_daily",
    "When a topic could not be written to though it was expected, cut at midnight.",
    "a state of a topic within a day",
    ("day", "cluster_label", "cluster", "topic", "valid_from"),
    (
        _DAY,
        *columns(
            "cluster string: Cluster name.",
            "topic string: Topic.",
            "state string: unwritable: there was a route, but no queue to write to; no_route.",
            "valid_from bigint: From when on, ms.",
            "valid_to bigint: Until when, not included.",
        ),
        *_LABEL,
    ),
)

INCIDENT = Table(
    "incident",
    "The failures, their causes and their cost. Failures of one kind that begin within 30 s of each other in"
    " a cluster are one incident; of drift those of one cause. Each time that a name server is down is an"
    " incident of its own. A topic that can't be written to belongs to the failure that took its last row to"
    " write to: the session of a master, a wiped permission, or the only name server that had it. Without"
    " such a failure the topic is an incident of its own. A topic that can be written to within 30 s of its"
    " first registration was starting: that is no incident.",
    "an incident",
    ("from_ts", "kind", "cluster_label", "cluster", "subject", "cause"),
    columns(
        "kind string: broker_away; mass_disconnect: three or more brokers went; broker_unregistered: it asked"
        " for that; permission_wiped; topic_unwritable: its row changed; topic_deleted: and clients go on"
        " asking for it; drift: name servers disagreed for 30 s or longer, and not because somebody wiped a"
        " permission; name_server_down.",
        "cluster string: Cluster name; null if kind is name_server_down.",
        "subject string: The broker name, topic or name server; the first of several by name.",
        "from_ts bigint: When it began, ms.",
        "to_ts bigint: When all of it had ended; null: it had not at the last time that is known.",
        "is_open boolean: Whether it had not ended.",
        "cause string: Why: how the last registration of a broker ended, wipe_write_perm, stopped, or no_stop"
        " if the name server ended without a record of it; of a topic the request that changed or deleted its"
        " row; of a drift broker_missing, topic_missing, permission_differs or queues_differ; null: not"
        " known.",
        "peer string: [user@]host:port that asked for it; null: nobody did.",
        "brokers bigint: How many brokers, or broker names.",
        "broker_names array<string>: Their names, sorted.",
        "topics bigint: How many topics could not be written to, or differ.",
        "first_topic string: The first of these by name; null: none.",
        "name_servers array<string>: Name servers with the rows that broke, sorted; empty: it is not about"
        " any. Of a drift those that lacked for 30 s what another one had; all if their queues differed.",
        "lookups bigint: Lookups of these topics that found no route meanwhile, over all name servers; of a"
        " drift at its name_servers.",
        "languages array<string>: Languages of the clients that asked, sorted.",
        "is_forgotten boolean: Whether it ended because a broker that had been away for seven days was not"
        " expected any more; null: an earlier version made the row.",
        "topic_ms bigint: Time in which topics could not be written to, added up over them; null: an earlier"
        " version made the row.",
        "closed_by string: If cause is channel_closed, who closed the connection: peer, reset, idle, limit,"
        " protocol_error, tls, front or server; null: not known.",
        "from_window_ms bigint: It began up to this long before from_ts: an observer recorded that; null:"
        " exact.",
        "to_window_ms bigint: It ended up to this long before to_ts: an observer recorded that; null: exact,"
        " it is open, or an earlier version made the row.",
    )
    + _LABEL,
)

NAME_SERVER_LABEL_DAILY = Table(
    "name_server_label_daily",
    "The label of the cluster that each name server belonged to. A name server without a label of its own has"
    " that of the name servers with which it shares brokers. While no name server has a label, there are no"
    " rows.",
    "a name server and day",
    ("day", "namesrv"),
    (
        _DAY,
        *columns(
            "namesrv string: Name server.",
            "cluster_label string: Label of its cluster, as in the other tables of this day; null: none.",
        ),
    ),
)

BY_DAY: tuple[Table, ...] = (
    _NAME_SERVER_CLOCK_DAILY,
    NAME_SERVER_LABEL_DAILY,
    _BROKER_STATE_DAILY,
    _BROKER_AVAILABILITY_DAILY,
    _BROKER_FLAP,
    _TOPIC_AVAILABILITY_DAILY,
    _TOPIC_OUTAGE_DAILY,
    _CAPACITY_DAILY,
    _PROPAGATION_LAG,
    _HEARTBEAT_GAP_DAILY,
    _UNKNOWN_TOPIC_DAILY,
    _CHANGE_LOG,
)
"""Tables that are partitioned by day."""

GOLD: Mapping[str, Table] = {
    table.name: table
    for table in (
        *(history.table for history in (TIMELINE, *HISTORIES, *DRIFTS)),
        NAME_SERVER_SESSION,
        LOST_RECORDS,
        KNOWN_SPAN,
        INCIDENT,
        *BY_DAY,
    )
}
"""Every gold table by its name."""


def partition_column(table: Table) -> str | None:
    """The column that partitions a table: histories have `valid_to_day`, tables of days `day`."""
    names = names_in(table)
    return next((name for name in ("valid_to_day", "day") if name in names), None)

"""The bugs of the pipeline's SQL: each breaks one rule of docs/decisions/0011 or 0012."""

from typing import NamedTuple

from namekeeper.pipeline.gold.sql_text import raw_text

__all__ = ["SQL_MUTANTS", "SqlMutant"]


class SqlMutant(NamedTuple):
    """A bug that the law must find."""

    name: str
    query: str
    """Name of the file in pipeline/gold/sql; what is in a fragment is in every query that takes it in."""
    old: str
    """Occurs exactly once in it."""
    new: str
    rule: str
    """What does not hold any more."""

    @property
    def files(self) -> frozenset[str]:
        """Name of the file that it changes, without folders."""
        return frozenset({f"{self.query.rpartition('/')[2]}.sql"})

    def text(self) -> str:
        """The query with the bug in it.

        Raises:
            ValueError: the old text is not there exactly once.
        """
        text = raw_text(self.query)
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: its text occurs {text.count(self.old)} times in {self.query}.sql")
        return text.replace(self.old, self.new)


SQL_MUTANTS = (
    SqlMutant(
        "gap-not-seen",
        "loss",
        "boot <> before_boot OR seq > before_seq + 1",
        "boot <> before_boot OR seq > before_seq + 2",
        "one missing seq is a loss",
    ),
    SqlMutant(
        "crash-is-no-loss",
        "loss",
        "WHERE same_boot OR NOT before_stops OR",
        "WHERE same_boot OR",
        "a boot without server_stopped that another one follows is a loss",
    ),
    SqlMutant(
        "counts-not-compared",
        "complete_checkpoint",
        "coalesce(p.records, 0) <> coalesce(c.records, 0)",
        "coalesce(p.records, 0) < coalesce(c.records, 0)",
        "a checkpoint counts only if all its counts are met",
    ),
    SqlMutant(
        "torn-checkpoint-counts",
        "complete_checkpoint",
        "AND l.first_seq > b.seq AND l.first_seq < e.end_seq",
        "AND l.first_seq > e.end_seq AND l.first_seq < b.seq",
        "a checkpoint with a missing seq in it does not count",
    ),
    SqlMutant(
        "gap-in-a-block-not-seen",
        "record_block",
        "records < last_seq - first_seq + 1 AS has_hole",
        "records < last_seq - first_seq AS has_hole",
        "one missing seq is a loss, wherever it is",
    ),
    SqlMutant(
        "clock-runs-backwards",
        "event_time",
        "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
        "ROWS BETWEEN CURRENT ROW AND CURRENT ROW",
        "time in SQL is the minimum over a record and all later ones",
    ),
    SqlMutant(
        "later-blocks-forgotten",
        "record_block",
        "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
        "ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING",
        "time in SQL is the minimum over a record and all later ones, however far away",
    ),
    SqlMutant(
        "loss-begins-early",
        "position",
        "max(m.eff_ts)",
        "min(m.eff_ts)",
        "unknown runs from the last change before the loss",
    ),
    SqlMutant(
        "stop-heals",
        "boundary",
        "WHEN new_state = 'stopped' AND previous_state <> 'up' THEN previous_state",
        "WHEN new_state = 'none' THEN previous_state",
        "what is unknown stays so until a complete checkpoint, even if the server stops",
    ),
    SqlMutant(
        "torn-rows-believed",
        "computed_history",
        "WHERE f.checkpoint IS NULL OR f.checkpoint = {own_span}",
        "WHERE f.checkpoint IS NULL OR f.checkpoint > 0",
        "rows of a checkpoint that does not count are not used",
    ),
    SqlMutant(
        "checkpoint-rows-at-their-seq",
        "computed_history",
        "following_ts > eff_ts\n  WINDOW w AS (PARTITION BY namesrv, {key} ORDER BY recorded_boot, position, seq)",
        "following_ts > eff_ts\n  WINDOW w AS (PARTITION BY namesrv, {key} ORDER BY recorded_boot, seq, position)",
        "rows of a checkpoint stand at its begin, whatever was written in between",
    ),
    SqlMutant(
        "not-named-goes-on",
        "computed_history",
        "coalesce(lead(recorded_boot) OVER w = recorded_boot AND lead(span) OVER w = span, false) AS has_next",
        "coalesce(lead(recorded_boot) OVER w = recorded_boot, false) AS has_next",
        "what a complete checkpoint does not name is gone at its begin",
    ),
    SqlMutant(
        "removed-name-keeps-topics",
        "topic_change",
        "{nulls of topic_row}, true, 'broker_name_removed'",
        "{nulls of topic_row}, false, 'broker_name_removed'",
        "a removed broker name takes its topic rows along",
    ),
    SqlMutant(
        "cut-row-keeps-its-end",
        "merged_history",
        "least(coalesce(o.valid_to, :forever), u.to_ts) AS valid_to",
        "coalesce(o.valid_to, :forever) AS valid_to",
        "the result does not depend on the runs in which segments came",
    ),
    SqlMutant(
        "neighbours-not-joined",
        "merged_history",
        "lag(valid_to) OVER w = valid_from",
        "lag(valid_to) OVER w > valid_from",
        "a row goes on where a range ends",
    ),
    SqlMutant(
        "neighbour-of-the-range-not-joined",
        "overlap",
        "coalesce(o.valid_to, :forever) >= w.from_ts",
        "coalesce(o.valid_to, :forever) > w.from_ts",
        "a row that ended where late records begin is joined with their rows",
    ),
    SqlMutant(
        "untouched-rows-dropped",
        "rewritten",
        "  AND NOT\n",
        "  AND\n",
        "rows of other name servers in a partition that is written again stay",
    ),
    SqlMutant(
        "the-future-is-known",
        "up_period",
        "least(coalesce(t.valid_to, k.up_to), k.up_to) AS valid_to",
        "coalesce(t.valid_to, :forever) AS valid_to",
        "what is later than the last record is not known yet",
    ),
    SqlMutant(
        "restart-is-an-outage",
        "subject_witness",
        "least(w.witness_at_latest, coalesce(f.first_registration, w.witness_at_latest))",
        "w.valid_from",
        "a name server that has just started is no witness",
    ),
    SqlMutant(
        "unknown-is-down",
        "broker_state",
        "WHEN witnesses = 0 THEN 'unknown'",
        "WHEN witnesses = 0 THEN 'down'",
        "unknown is neither up nor down",
    ),
    SqlMutant(
        "no-memory",
        "recently_seen_cluster",
        "valid_to + :memory_ms AS valid_to",
        "valid_to AS valid_to",
        "a name server that has seen a cluster lately is a witness for it",
    ),
    SqlMutant(
        "a-slave-takes-messages",
        "topic_writable",
        " AND h.broker_id = 0",
        " AND h.broker_id >= 0",
        "a topic is writable only where there is a master",
    ),
    SqlMutant(
        "the-best-name-server-is-the-worst",
        "new_topic_availability_daily",
        "max(lost_ms) AS worst_ms",
        "min(lost_ms) AS worst_ms",
        "a topic that one name server could not give shows how long this was",
    ),
    SqlMutant(
        "few-samples-move-clocks",
        "new_name_server_clock_daily",
        "CASE WHEN count(*) >= :least_samples THEN",
        "CASE WHEN count(*) >= 1 THEN",
        "a clock is corrected only if enough registrations show its offset",
    ),
    SqlMutant(
        "alone-is-drift",
        "disagreement",
        "HAVING min(seen) <> max(seen)",
        "HAVING min(seen) = min(seen)",
        "who agrees that a broker is away does not disagree",
    ),
    SqlMutant(
        "absent-is-no-drift",
        "computed_view_drift_topic",
        "count(v.topic) < count(*) OR min(v.seen) <> max(v.seen)",
        "min(v.seen) <> max(v.seen)",
        "a topic that one name server lacks is compared, though all others see the same",
    ),
    SqlMutant(
        "seen-otherwise-is-no-drift",
        "computed_view_drift_topic",
        "count(v.topic) < count(*) OR min(v.seen) <> max(v.seen)",
        "count(v.topic) < count(*)",
        "a topic that name servers see otherwise, each of them all the time, is compared",
    ),
    SqlMutant(
        "newest-is-largest",
        "boot_extent",
        "max_by(last_ts, last_position) AS knows_up_to",
        "max(greatest_ts) AS knows_up_to",
        "knows up to is the ts of the last record in order, not the largest",
    ),
    SqlMutant(
        "other-topics-confirmed",
        "checkpoint_run",
        " AND lag(fingerprint) OVER w = fingerprint",
        "",
        "a checkpoint confirms topics only if its rows of them are equal",
    ),
    SqlMutant(
        "confirmed-across-changes",
        "checkpoint_run",
        "--     AND lag(first_recorded_ts) OVER w IS NULL\n",
        "",
        "a checkpoint confirms only what the one before it has of a broker name, with no change since",
    ),
    SqlMutant(
        "recorded-after-a-confirmation",
        "checkpoint_run",
        "WHERE is_first = 1 OR first_recorded_ts IS NOT NULL",
        "WHERE is_first = 1",
        "what is recorded after a checkpoint that confirms follows what the first of them recorded",
    ),
    SqlMutant(
        "confirmed-across-losses",
        "checkpoint_run",
        "lag(to_boot) OVER w = boot AND lag(to_position) OVER w = span",
        "lag(boot) OVER w = boot",
        "a checkpoint behind lost records confirms nothing",
    ),
    SqlMutant(
        "confirmed-for-no-time",
        "checkpoint_run",
        "lag(eff_ts) OVER w < eff_ts AND eff_ts < span_to_ts",
        "lag(eff_ts) OVER w <= eff_ts",
        "a checkpoint that is known for no time neither confirms nor is confirmed",
    ),
    SqlMutant(
        "confirmed-while-changed",
        "checkpoint_run",
        "(first_recorded_ts IS NULL OR first_recorded_ts > eff_ts)",
        "span IS NOT NULL",
        "where something changes at the time of a checkpoint, rows end at the checkpoint",
    ),
    SqlMutant(
        "minutes-counted-twice",
        "new_heartbeat_gap_daily",
        "sum(bit_count(h.minutes)) AS minutes",
        "count(*) * 60 AS minutes",
        "a minute counts if there was a sign of life in it, and once",
    ),
    SqlMutant(
        "hours-across-midnight",
        "new_heartbeat_gap_daily",
        "JOIN activity_day d ON h.hour >= d.from_ts AND h.hour < d.to_ts",
        "JOIN activity_day d ON h.hour + 3600000 > d.from_ts AND h.hour < d.to_ts - 3600000",
        "a minute belongs to the day that it lies in",
    ),
    SqlMutant(
        "capacity-without-master",
        "new_capacity_daily",
        " AND m.broker_name IS NOT NULL THEN 1",
        " THEN 1",
        "a topic on a broker name without a master can't be written to",
    ),
    SqlMutant(
        "capacity-at-midnight",
        "new_capacity_daily",
        "max(least(u.valid_to, d.to_ts)) - 1 AS at_ts",
        "max(d.to_ts) - 1 AS at_ts",
        "what a broker had is what it had when it was last known",
    ),
    SqlMutant(
        "bodies-of-other-days",
        "new_capacity_daily",
        "ON s.day = h.day AND s.namesrv",
        "ON s.day >= h.day AND s.namesrv",
        "the size of a registration is that of the day",
    ),
    SqlMutant(
        "range-takes-its-end",
        "in_recompute_range",
        "$row.$position < w.to_position",
        "$row.$position <= w.to_position",
        "the checkpoint at the end of a range belongs to what is kept",
    ),
    SqlMutant(
        "last-row-left-out",
        "joined_islands",
        "coalesce(lead(is_first) OVER w, 1) AS is_last",
        "coalesce(lead(is_first) OVER w, 0) AS is_last",
        "a row made of equal periods ends as the last of them",
    ),
    SqlMutant(
        "islands-not-numbered",
        "islands",
        "sum(is_first) OVER (PARTITION BY $key ORDER BY $order RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
        "is_first",
        "periods that a gap separates are not one",
    ),
    SqlMutant(
        "later-changes-forgotten",
        "running_counts",
        "ORDER BY at_ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
        "ORDER BY at_ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
        "a state follows from all changes before it",
    ),
    SqlMutant(
        "witness-in-the-future",
        "disagreement",
        "w.valid_to >= p.until\n",
        "w.valid_to >= p.at_ts\n",
        "a witness is asked only for the time in which it is one",
    ),
    SqlMutant(
        "incidents-of-a-whole-day",
        "incident_part",
        "kind <> 'name_server_down' AND from_ts - lag(from_ts) OVER w <= :together_ms",
        "kind <> 'name_server_down' AND lag(from_ts) OVER w IS NOT NULL",
        "only what begins at nearly the same time is one incident",
    ),
    SqlMutant(
        "two-restarts-are-one",
        "incident_part",
        "kind <> 'name_server_down' AND from_ts",
        "from_ts",
        "each time that a name server is down is an incident of its own",
    ),
    SqlMutant(
        "cost-without-end",
        "new_incident",
        "AND u.minute < a.to_ts",
        "",
        "look-ups count only while a topic could not be written to",
    ),
    SqlMutant(
        "cost-of-any-broker",
        "topic_outage_cause",
        "s.valid_to = w.from_ts AND s.cluster = w.cluster",
        "s.valid_to <= w.from_ts AND s.cluster = w.cluster",
        "a topic belongs to the failure that took its last row to write to",
    ),
    SqlMutant(
        "cost-of-the-next-outage",
        "topic_outage_cause",
        "ORDER BY abs(l.from_ts - p.from_ts), p.kind",
        "ORDER BY p.from_ts DESC, p.kind",
        "of several failures of a broker, the nearest one took the row",
    ),
    SqlMutant(
        "stop-takes-nothing",
        "topic_outage_cause",
        "WHEN ended_by IN ('stopped', 'unknown') THEN 'name server'\n",
        "WHEN ended_by = 'nothing' THEN 'name server'\n",
        "a topic that a name server alone had is the cost of its stop",
    ),
    SqlMutant(
        "start-is-a-failure",
        "new_incident",
        "(o.was_writable OR o.to_ts - o.from_ts > :together_ms OR o.to_ts >= h.up_to)",
        "o.to_ts > 0",
        "a slave that registers before its master is no failure",
    ),
    SqlMutant(
        "gone-is-deleted",
        "asked_topic_row",
        "r.ended_by = 'gone' AND r.reason IS NULL AS is_deleted",
        "r.ended_by = 'gone' AS is_deleted",
        "a topic whose brokers went was not deleted",
    ),
    SqlMutant(
        "deleted-for-ever",
        "new_incident",
        "least(coalesce(lead(valid_from) OVER w, :forever), valid_to + :memory_ms) AS until",
        "valid_to + :memory_ms AS until",
        "a deleted topic that is there again is no incident any more",
    ),
    SqlMutant(
        "asked-anywhere",
        "new_incident",
        "AND coalesce(a.namesrv, u.namesrv) IS NOT DISTINCT FROM u.namesrv",
        "",
        "what a name server misses costs the look-ups at this one",
    ),
    SqlMutant(
        "drift-from-propagation-on",
        "incident_part",
        "p.to_ts - p.to_window_ms - p.from_ts >= :together_ms",
        "p.to_ts - p.to_window_ms - p.from_ts >= :shortest_drift_ms",
        "a disagreement of less than 30 seconds is no incident",
    ),
    SqlMutant(
        "best-view-is-wrong",
        "incident_part",
        "WHERE grade < greatest_grade",
        "WHERE grade = greatest_grade",
        "a name server lacks what another one has",
    ),
    SqlMutant(
        "came-back-and-forgotten",
        "incident_part",
        "CASE WHEN next_from = valid_to THEN 0 ELSE 1 END",
        "1",
        "a broker that came back was not forgotten",
    ),
    SqlMutant(
        "away-and-forgotten",
        "incident_part",
        "CASE WHEN o.to_ts < h.up_to THEN o.is_last_state ELSE 0 END",
        "o.is_last_state",
        "a broker is forgotten only when it is not expected any more",
    ),
    SqlMutant(
        "unregistered-for-ever",
        "broker_state",
        "2 * valid_to + CASE WHEN has_unregistered THEN 1 ELSE 0 END",
        "CASE WHEN has_unregistered THEN 1 ELSE 0 END",
        "a broker that unregistered once and expired later is down",
    ),
    SqlMutant(
        "never-forgotten",
        "broker_state",
        "valid_to + :memory_ms, 0, 0, -1, 0",
        ":forever, 0, 0, -1, 0",
        "a broker that went is not expected any more after seven days",
    ),
    SqlMutant(
        "nobody-unregisters",
        "registered_broker",
        "s.reason = 'unregister_broker'",
        "s.reason = 'expired'",
        "a broker that unregistered is not down",
    ),
)

-- Failures, as the rows that broke show them. Those of one kind that began at nearly the same time in a cluster have
-- the same `island`: they are one incident. Each time that a name server is down is one of its own. `way` and `who`
-- name what was lost: the session of a broker, the permission of a broker name, or a name server. Of a disagreement,
-- `namesrv` lacks what another name server has (docs/decisions/0042).
-- columns: kind, cluster_label, cluster, of_subject, island, way, who, subject, from_ts, to_ts, cause, peer,
--   broker_name, broker, namesrv, topic, is_forgotten, closed_by, from_window_ms, to_window_ms
-- reads: broker_group_history, broker_session, broker_state_daily, incident_horizon, labelled_period, lost_records,
--   name_server_timeline, server, topic_route, view_drift_broker, view_drift_topic
-- kept: it has few rows, and the queries over it need it six times
WITH
-- include: last_cluster,
observed_boot AS (
  SELECT DISTINCT namesrv, boot FROM server WHERE observed_addr IS NOT NULL
),
-- A broker is expected as long as it has states, which follow each other without a gap.
followed_state AS (
  SELECT
    coalesce(cluster_label, '') AS cluster_label, cluster, broker_name, broker_id, state, began_at, valid_from,
    valid_to,
    lead(valid_from) OVER (
      PARTITION BY cluster_label, cluster, broker_name, broker_id ORDER BY valid_from
    ) AS next_from
  FROM broker_state_daily
),
broker_outage AS (
  SELECT
    CASE WHEN state = 'down' THEN 'broker_away' ELSE 'broker_unregistered' END AS kind,
    cluster_label, cluster, broker_name, broker_id, began_at AS from_ts, max(valid_to) AS to_ts,
    min(valid_from) AS seen_from,
    max(CASE WHEN next_from = valid_to THEN 0 ELSE 1 END) AS is_last_state
  FROM followed_state
  WHERE state IN ('down', 'unregistered')
  GROUP BY state, cluster_label, cluster, broker_name, broker_id, began_at
),
-- How the registrations ended with which an outage began. The label of a name server is that of the day from which the
-- outage has it.
broker_end AS (
  SELECT
    o.cluster_label, o.cluster, o.broker_name, o.broker_id, o.from_ts, min(coalesce(s.reason, s.ended_by)) AS cause,
    min(s.to_peer) AS peer, min(s.closed_by) AS closed_by, max(s.to_window_ms) AS from_window_ms
  FROM broker_outage o
  JOIN broker_session s
    ON s.cluster = o.cluster AND s.broker_name = o.broker_name AND s.broker_id = o.broker_id
    AND s.valid_to = o.from_ts
  JOIN labelled_period k
    ON k.namesrv = s.namesrv AND k.from_ts <= o.seen_from AND k.to_ts > o.seen_from
  WHERE s.ended_by IN ('gone', 'changed') AND k.cluster_label = o.cluster_label
  GROUP BY o.cluster_label, o.cluster, o.broker_name, o.broker_id, o.from_ts
),
-- The registrations with which an outage ended.
broker_return AS (
  SELECT
    o.cluster_label, o.cluster, o.broker_name, o.broker_id, o.from_ts, max(s.from_window_ms) AS to_window_ms
  FROM broker_outage o
  JOIN broker_session s
    ON s.cluster = o.cluster AND s.broker_name = o.broker_name AND s.broker_id = o.broker_id
    AND s.valid_from = o.to_ts
  JOIN labelled_period k
    ON k.namesrv = s.namesrv AND k.from_ts <= o.seen_from AND k.to_ts > o.seen_from
  WHERE s.from_window_ms > 0 AND k.cluster_label = o.cluster_label
  GROUP BY o.cluster_label, o.cluster, o.broker_name, o.broker_id, o.from_ts
),
wiped AS (
  SELECT
    k.cluster_label, r.namesrv, r.broker_name, r.valid_from AS from_ts,
    min(r.from_peer) AS peer, max(coalesce(r.valid_to, :forever)) AS to_ts, max(r.from_window_ms) AS from_window_ms,
    max(coalesce(r.valid_to, :forever)) - max(coalesce(r.valid_to, :forever) - coalesce(r.to_window_ms, 0))
      AS to_window_ms
  FROM topic_route r
  JOIN labelled_period k
    ON k.namesrv = r.namesrv AND k.from_ts <= r.valid_from AND k.to_ts > r.valid_from
  WHERE r.from_cause = 'wipe_write_perm'
  GROUP BY k.cluster_label, r.namesrv, r.broker_name, r.valid_from
),
topic_view AS (
  SELECT
    coalesce(cluster_label, '') AS cluster_label, cluster, broker_name, topic, valid_from, valid_to,
    coalesce(from_window_ms, 0) AS from_window_ms, coalesce(to_window_ms, 0) AS to_window_ms, is_open,
    explode(views) AS seen
  FROM view_drift_topic
),
-- A row that is absent is worse than one that can't be written to.
graded_view AS (
  SELECT
    v.*, regexp_extract(seen, '^(.*): (absent|read .*)', 1) AS namesrv,
    CASE
      WHEN seen LIKE '%: absent' THEN 0
      WHEN CAST(regexp_extract(seen, ' perm ([0-9]+), flag ', 1) AS INT) & 2 = 0 THEN 1
      ELSE 2
    END AS grade
  FROM topic_view v
),
compared_view AS (
  SELECT g.*, min(grade) OVER w AS least_grade, max(grade) OVER w AS greatest_grade
  FROM graded_view g
  WINDOW w AS (PARTITION BY cluster_label, cluster, broker_name, topic, valid_from)
),
-- While no name server has a better row than the others, each lacks the queues of the others.
drift_row AS (
  SELECT
    coalesce(cluster_label, '') AS cluster_label, cluster, broker_name, broker_id, broker_addr,
    CAST(NULL AS STRING) AS topic, explode(missing_at) AS namesrv, 'broker_missing' AS cause, valid_from, valid_to,
    coalesce(from_window_ms, 0) AS from_window_ms, coalesce(to_window_ms, 0) AS to_window_ms, is_open
  FROM view_drift_broker
  UNION ALL
  SELECT
    cluster_label, cluster, broker_name, CAST(NULL AS BIGINT), CAST(NULL AS STRING), topic, namesrv,
    CASE
      WHEN least_grade = greatest_grade THEN 'queues_differ'
      WHEN grade = 0 THEN 'topic_missing'
      ELSE 'permission_differs'
    END,
    valid_from, valid_to, from_window_ms, to_window_ms, is_open
  FROM compared_view
  WHERE grade < greatest_grade OR least_grade = greatest_grade
),
-- include: islands,
--   named: lacking
--   rows: drift_row
--   key: cluster_label, cluster, broker_name, broker_id, broker_addr, topic, namesrv, cause
--   order: valid_from
--   continues: valid_from - lag(valid_to) OVER w < :shortest_drift_ms
lacking_period AS (
  SELECT
    cluster_label, cluster, broker_name, broker_id, topic, namesrv, cause, min(valid_from) AS from_ts,
    min_by(from_window_ms, valid_from) AS from_window_ms, max(valid_to) AS to_ts,
    max_by(to_window_ms, valid_to) AS to_window_ms, max_by(is_open, valid_to) AS is_open
  FROM lacking
  GROUP BY cluster_label, cluster, broker_name, broker_id, broker_addr, topic, namesrv, cause, island
),
-- An end counts after a time in which the name servers agreed. At the end of the records of a name server, a
-- disagreement is over if those of the others go on.
long_drift AS (
  SELECT
    p.*,
    CASE
      WHEN p.to_ts > h.up_to - CASE WHEN p.is_open THEN :together_end_ms ELSE :shortest_drift_ms END
        THEN :forever
      ELSE p.to_ts
    END AS until
  FROM lacking_period p
  JOIN incident_horizon h ON h.cluster_label = p.cluster_label
  WHERE p.to_ts - p.to_window_ms - p.from_ts >= :together_ms
),
-- A permission that somebody wiped is an incident already.
drift AS (
  SELECT d.*
  FROM long_drift d
  LEFT JOIN topic_route r
    ON d.cause = 'permission_differs' AND r.namesrv = d.namesrv AND r.broker_name = d.broker_name
    AND r.topic = d.topic AND r.from_cause = 'wipe_write_perm' AND r.valid_from <= d.from_ts + :together_ms
    AND coalesce(r.valid_to, :forever) >= d.until - :together_ms
  WHERE r.namesrv IS NULL
),
part AS (
  SELECT
    o.kind, o.cluster_label, o.cluster, '' AS of_subject, 'session' AS way,
    concat(o.broker_name, ' ', CAST(o.broker_id AS STRING)) AS who, o.broker_name AS subject, o.from_ts, o.to_ts,
    e.cause, e.peer, o.broker_name, concat(o.broker_name, ' ', CAST(o.broker_id AS STRING)) AS broker,
    CAST(NULL AS STRING) AS namesrv, CAST(NULL AS STRING) AS topic,
    CASE WHEN o.to_ts < h.up_to THEN o.is_last_state ELSE 0 END AS is_forgotten, e.closed_by,
    e.from_window_ms, b.to_window_ms
  FROM broker_outage o
  JOIN incident_horizon h ON h.cluster_label = o.cluster_label
  LEFT JOIN broker_end e
    ON e.cluster_label = o.cluster_label AND e.cluster = o.cluster AND e.broker_name = o.broker_name
    AND e.broker_id = o.broker_id AND e.from_ts = o.from_ts
  LEFT JOIN broker_return b
    ON b.cluster_label = o.cluster_label AND b.cluster = o.cluster AND b.broker_name = o.broker_name
    AND b.broker_id = o.broker_id AND b.from_ts = o.from_ts
  UNION ALL
  SELECT
    'permission_wiped', w.cluster_label, c.cluster, '', 'permission', w.broker_name, w.broker_name, w.from_ts, w.to_ts,
    'wipe_write_perm', w.peer, w.broker_name, w.broker_name, w.namesrv, CAST(NULL AS STRING), 0, CAST(NULL AS STRING),
    w.from_window_ms, w.to_window_ms
  FROM wiped w
  LEFT JOIN cluster_of c ON c.broker_name = w.broker_name AND c.cluster_label = w.cluster_label
  UNION ALL
  SELECT
    'drift', d.cluster_label, d.cluster, d.cause, CAST(NULL AS STRING), CAST(NULL AS STRING),
    coalesce(d.topic, d.broker_name), d.from_ts, d.until, d.cause, CAST(NULL AS STRING), d.broker_name,
    CASE
      WHEN d.topic IS NULL THEN concat(d.broker_name, ' ', CAST(d.broker_id AS STRING)) ELSE d.broker_name
    END,
    d.namesrv, d.topic, 0, CAST(NULL AS STRING), d.from_window_ms, d.to_window_ms
  FROM drift d
  UNION ALL
  SELECT
    'name_server_down', k.cluster_label, CAST(NULL AS STRING), t.namesrv, 'name server', t.namesrv,
    t.namesrv, t.valid_from, coalesce(t.valid_to, :forever),
    CASE WHEN t.state = 'stopped' THEN 'stopped' ELSE l.reason END,
    CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING), t.namesrv, CAST(NULL AS STRING), 0,
    CAST(NULL AS STRING), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT)
  FROM name_server_timeline t
  JOIN labelled_period k ON k.namesrv = t.namesrv AND k.from_ts <= t.valid_from AND k.to_ts > t.valid_from
  LEFT JOIN lost_records l ON l.namesrv = t.namesrv AND l.unknown_from = t.valid_from
  -- The end of a period of observation is no end of the name server.
  LEFT JOIN observed_boot o ON o.namesrv = l.namesrv AND o.boot = l.boot
  WHERE t.state = 'stopped' OR (l.reason = 'no_stop' AND o.boot IS NULL)
),
-- include: islands
--   named: part_island
--   rows: part
--   key: kind, cluster_label, cluster, of_subject
--   order: from_ts, subject
--   continues: kind <> 'name_server_down' AND from_ts - lag(from_ts) OVER w <= :together_ms
SELECT
  kind, cluster_label, cluster, of_subject, island, way, who, subject, from_ts, to_ts, cause, peer, broker_name, broker,
  namesrv, topic, is_forgotten, closed_by, from_window_ms, to_window_ms
FROM part_island

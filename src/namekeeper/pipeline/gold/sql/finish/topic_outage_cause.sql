-- Each time that a topic could not be written to, with the failure that took its last row to write to. This row ended
-- at the same instant: with the session of a master, with a permission, or with a name server. Then kind,
-- part_cluster, of_subject and island name the failure; or they are null, because only the row itself changed. If no
-- row ended then, because nothing was known before, a broker that had the topic before and was away is the failure.
-- columns: cluster_label, cluster, topic, from_ts, to_ts, kind, part_cluster, of_subject, island, was_writable, cause,
--   peer, broker_name, namesrv, from_window_ms
-- reads: broker_group_history, broker_session, incident_part, labelled_period, topic_outage_daily, topic_route
-- kept: it has few rows, and the query over it needs it three times
WITH
-- include: last_cluster,
labelled_outage AS (
  SELECT coalesce(cluster_label, '') AS cluster_label, cluster, topic, valid_from, valid_to FROM topic_outage_daily
),
-- include: islands,
--   named: outage_island
--   rows: labelled_outage
--   key: cluster_label, cluster, topic
--   order: valid_from
--   continues: lag(valid_to) OVER w = valid_from
topic_outage AS (
  SELECT cluster_label, cluster, topic, min(valid_from) AS from_ts, max(valid_to) AS to_ts
  FROM outage_island
  GROUP BY cluster_label, cluster, topic, island
),
writable_row AS (
  SELECT
    o.cluster_label, o.cluster, o.topic, o.from_ts, r.namesrv, r.broker_name, r.valid_from,
    coalesce(r.valid_to, :forever) AS valid_to, r.ended_by, r.to_cause, r.to_peer, r.to_window_ms
  FROM topic_outage o
  JOIN topic_route r ON r.topic = o.topic AND r.valid_from < o.from_ts
  JOIN cluster_of c
    ON c.broker_name = r.broker_name AND c.cluster = o.cluster AND c.cluster_label = o.cluster_label
  JOIN labelled_period k ON k.namesrv = r.namesrv AND k.from_ts <= o.from_ts AND k.to_ts > o.from_ts
  WHERE k.cluster_label = o.cluster_label AND r.perm & 2 <> 0 AND r.write_queue_nums > 0
    AND coalesce(r.valid_to, :forever) > o.from_ts - :memory_ms
),
-- The rows that could be written to until the outage began.
ending AS (
  SELECT
    cluster_label, cluster, topic, from_ts, namesrv, broker_name, coalesce(to_cause, ended_by) AS cause,
    to_peer AS peer,
    CASE
      WHEN to_cause = 'wipe_write_perm' THEN 'permission'
      WHEN ended_by IN ('stopped', 'unknown') THEN 'name server'
    END AS way,
    CASE WHEN ended_by IN ('stopped', 'unknown') THEN namesrv ELSE broker_name END AS who, to_window_ms
  FROM writable_row
  WHERE valid_to = from_ts
  UNION ALL
  SELECT
    w.cluster_label, w.cluster, w.topic, w.from_ts, w.namesrv, w.broker_name, coalesce(s.reason, s.ended_by), s.to_peer,
    CASE WHEN s.ended_by IN ('stopped', 'unknown') THEN 'name server' ELSE 'session' END,
    CASE WHEN s.ended_by IN ('stopped', 'unknown') THEN w.namesrv ELSE concat(w.broker_name, ' 0') END,
    s.to_window_ms
  FROM writable_row w
  JOIN broker_session s
    ON s.namesrv = w.namesrv AND s.broker_name = w.broker_name AND s.valid_to = w.from_ts AND s.cluster = w.cluster
    AND s.broker_id = 0
  WHERE w.valid_to >= w.from_ts
),
-- Where nothing is known of the time before, the brokers that had the topic when it was known.
carrier AS (
  SELECT DISTINCT w.cluster_label, w.cluster, w.topic, w.from_ts, w.broker_name
  FROM writable_row w
  LEFT JOIN ending e
    ON e.cluster_label = w.cluster_label AND e.cluster = w.cluster AND e.topic = w.topic AND e.from_ts = w.from_ts
  WHERE e.topic IS NULL
),
candidate AS (
  SELECT
    cluster_label, cluster, topic, from_ts, true AS was_writable, cause, peer, broker_name, namesrv, way, who,
    to_window_ms
  FROM ending
  UNION ALL
  SELECT
    cluster_label, cluster, topic, from_ts, false, CAST(NULL AS STRING), CAST(NULL AS STRING), broker_name,
    CAST(NULL AS STRING), 'session', concat(broker_name, ' 0'), CAST(NULL AS BIGINT)
  FROM carrier
),
-- Each loss and its time, without the topic.
lost AS (
  SELECT DISTINCT cluster_label, cluster, way, who, from_ts FROM candidate WHERE way IS NOT NULL
),
-- Name servers find out one after the other that a broker is gone.
explained AS (
  SELECT
    l.cluster_label, l.cluster, l.way, l.who, l.from_ts, p.kind, p.cluster AS part_cluster, p.of_subject, p.island,
    row_number() OVER (
      PARTITION BY l.cluster_label, l.cluster, l.way, l.who, l.from_ts
      ORDER BY abs(l.from_ts - p.from_ts), p.kind, p.island
    ) AS choice
  FROM lost l
  JOIN incident_part p
    ON p.way = l.way AND p.who = l.who AND p.cluster_label = l.cluster_label
    AND coalesce(p.cluster, l.cluster) = l.cluster
    AND p.from_ts <= l.from_ts + :late_ms AND p.to_ts >= l.from_ts
),
chosen AS (
  SELECT
    c.*, x.kind, x.part_cluster, x.of_subject, x.island,
    row_number() OVER (
      PARTITION BY c.cluster_label, c.cluster, c.topic, c.from_ts
      ORDER BY
        CASE WHEN x.kind IS NULL THEN 1 ELSE 0 END, CASE WHEN c.way IS NULL THEN 1 ELSE 0 END, c.broker_name,
        c.namesrv, x.kind, x.island, c.cause, c.peer NULLS LAST
    ) AS choice
  FROM candidate c
  LEFT JOIN explained x
    ON x.cluster_label = c.cluster_label AND x.cluster = c.cluster AND x.way = c.way AND x.who = c.who
    AND x.from_ts = c.from_ts AND x.choice = 1
)
SELECT
  o.cluster_label, o.cluster, o.topic, o.from_ts, o.to_ts, c.kind, c.part_cluster, c.of_subject, c.island,
  coalesce(c.was_writable, false) AS was_writable, c.cause, c.peer, c.broker_name, c.namesrv,
  c.to_window_ms AS from_window_ms
FROM topic_outage o
LEFT JOIN chosen c
  ON c.cluster_label = o.cluster_label AND c.cluster = o.cluster AND c.topic = o.topic AND c.from_ts = o.from_ts
  AND c.choice = 1

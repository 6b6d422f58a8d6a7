-- Incidents: failures with their time range, cause and cost. Failures of one kind that began at nearly the
-- same time in a cluster are one incident; each time that a name server is down is one of its own. A topic that
-- could not be written to belongs to the cost of the incident during which this began, the last before it or else
-- the first after it; without such an incident it is an incident of its own.
-- columns: kind, cluster, subject, from_ts, to_ts, is_open, cause, peer, brokers, broker_names, topics, first_topic,
--   name_servers, lookups, languages, is_forgotten
-- reads: broker_group_history, broker_session, broker_state_daily, last_record_time, lost_records,
--   name_server_timeline, topic_outage_daily, topic_route, unknown_topic_minute, view_drift_broker, view_drift_topic
-- writes: incident
WITH horizon AS (
  SELECT max(up_to) AS up_to FROM last_record_time
),
cluster_of AS (
  SELECT broker_name, max_by(cluster, valid_from) AS cluster FROM broker_group_history GROUP BY broker_name
),
broker_end AS (
  SELECT
    cluster, broker_name, broker_id, valid_to AS from_ts, min(coalesce(reason, ended_by)) AS cause,
    min(to_peer) AS peer
  FROM broker_session
  WHERE ended_by IN ('gone', 'changed')
  GROUP BY cluster, broker_name, broker_id, valid_to
),
-- A broker is expected as long as it has states, which follow each other without a gap.
followed_state AS (
  SELECT
    cluster, broker_name, broker_id, state, began_at, valid_to,
    lead(valid_from) OVER (PARTITION BY cluster, broker_name, broker_id ORDER BY valid_from) AS next_from
  FROM broker_state_daily
),
broker_outage AS (
  SELECT
    CASE WHEN state = 'down' THEN 'broker_away' ELSE 'broker_unregistered' END AS kind,
    cluster, broker_name, broker_id, began_at AS from_ts, max(valid_to) AS to_ts,
    max(CASE WHEN next_from = valid_to THEN 0 ELSE 1 END) AS is_last_state
  FROM followed_state
  WHERE state IN ('down', 'unregistered')
  GROUP BY state, cluster, broker_name, broker_id, began_at
),
wiped AS (
  SELECT
    namesrv, broker_name, valid_from AS from_ts, min(from_peer) AS peer,
    max(coalesce(valid_to, :forever)) AS to_ts
  FROM topic_route
  WHERE from_cause = 'wipe_write_perm'
  GROUP BY namesrv, broker_name, valid_from
),
part AS (
  SELECT
    o.kind, o.cluster, '' AS of_subject, o.broker_name AS subject, o.from_ts, o.to_ts, e.cause,
    e.peer, o.broker_name, concat(o.broker_name, ' ', CAST(o.broker_id AS STRING)) AS broker,
    CAST(NULL AS STRING) AS namesrv, CAST(NULL AS STRING) AS topic,
    CASE WHEN o.to_ts < h.up_to THEN o.is_last_state ELSE 0 END AS is_forgotten
  FROM broker_outage o
  CROSS JOIN horizon h
  LEFT JOIN broker_end e
    ON e.cluster = o.cluster AND e.broker_name = o.broker_name AND e.broker_id = o.broker_id
    AND e.from_ts = o.from_ts
  UNION ALL
  SELECT
    'permission_wiped', c.cluster, w.broker_name, w.broker_name, w.from_ts, w.to_ts, 'wipe_write_perm', w.peer,
    w.broker_name, w.broker_name, w.namesrv, CAST(NULL AS STRING), 0
  FROM wiped w
  LEFT JOIN cluster_of c ON c.broker_name = w.broker_name
  UNION ALL
  SELECT
    'drift', cluster, '', broker_name, valid_from, CASE WHEN is_open THEN :forever ELSE valid_to END,
    CAST(NULL AS STRING), CAST(NULL AS STRING), broker_name,
    concat(broker_name, ' ', CAST(broker_id AS STRING)), from_namesrv, CAST(NULL AS STRING), 0
  FROM view_drift_broker
  UNION ALL
  SELECT
    'drift', cluster, '', broker_name, valid_from, CASE WHEN is_open THEN :forever ELSE valid_to END,
    CAST(NULL AS STRING), CAST(NULL AS STRING), broker_name, CAST(NULL AS STRING), from_namesrv, topic, 0
  FROM view_drift_topic
  UNION ALL
  SELECT
    'name_server_down', CAST(NULL AS STRING), t.namesrv, t.namesrv, t.valid_from, coalesce(t.valid_to, :forever),
    CASE WHEN t.state = 'stopped' THEN 'stopped' ELSE l.reason END, CAST(NULL AS STRING), CAST(NULL AS STRING),
    CAST(NULL AS STRING), t.namesrv, CAST(NULL AS STRING), 0
  FROM name_server_timeline t
  LEFT JOIN lost_records l ON l.namesrv = t.namesrv AND l.unknown_from = t.valid_from
  WHERE t.state = 'stopped' OR l.reason = 'no_stop'
),
-- include: islands,
--   named: part_island
--   rows: part
--   key: kind, cluster, of_subject
--   order: from_ts, subject, broker, topic
--   continues: kind <> 'name_server_down' AND from_ts - lag(from_ts) OVER w <= :together_ms
cause AS (
  SELECT
    CASE WHEN kind = 'broker_away' AND count(DISTINCT broker) >= :mass_brokers THEN 'mass_disconnect' ELSE kind END
      AS kind,
    cluster, min(subject) AS subject, min(from_ts) AS from_ts, max(to_ts) AS to_ts, min(cause) AS cause,
    min(peer) AS peer, count(DISTINCT broker) AS brokers, sort_array(collect_set(broker_name)) AS broker_names,
    count(DISTINCT topic) AS drift_topics, min(topic) AS drift_topic,
    sort_array(collect_set(namesrv)) AS name_servers,
    sort_array(collect_set(CAST(NULL AS STRING))) AS no_names,
    max(is_forgotten) = 1 AS is_forgotten
  FROM part_island
  GROUP BY kind, cluster, of_subject, island
),
-- include: islands,
--   named: outage_island
--   rows: topic_outage_daily
--   key: cluster, topic
--   order: valid_from
--   continues: lag(valid_to) OVER w = valid_from
topic_outage AS (
  SELECT cluster, topic, min(valid_from) AS from_ts, max(valid_to) AS to_ts
  FROM outage_island
  GROUP BY cluster, topic, island
),
explained AS (
  SELECT
    o.cluster, o.topic, o.from_ts, o.to_ts, c.kind, c.subject, c.from_ts AS began_at,
    row_number() OVER (
      PARTITION BY o.cluster, o.topic, o.from_ts
      ORDER BY CASE WHEN c.from_ts <= o.from_ts THEN 0 ELSE 1 END, abs(o.from_ts - c.from_ts), c.kind, c.subject
    ) AS choice
  FROM topic_outage o
  LEFT JOIN cause c
    ON c.cluster = o.cluster AND c.kind <> 'drift' AND o.from_ts >= c.from_ts - :together_ms
    AND o.from_ts <= c.to_ts
),
unexplained_outage AS (
  SELECT cluster, topic, from_ts, to_ts FROM explained WHERE choice = 1 AND kind IS NULL
),
-- include: islands,
--   named: unexplained
--   rows: unexplained_outage
--   key: cluster
--   order: from_ts, topic
--   continues: from_ts - lag(from_ts) OVER w <= :together_ms
unexplained_incident AS (
  SELECT
    cluster, island, min(topic) AS subject, min(from_ts) AS began_at, max(to_ts) AS ended_at,
    sort_array(collect_set(CAST(NULL AS STRING))) AS no_names
  FROM unexplained
  GROUP BY cluster, island
),
affected AS (
  SELECT kind, cluster, subject, began_at, topic, from_ts, to_ts
  FROM explained
  WHERE choice = 1 AND kind IS NOT NULL
  UNION ALL
  SELECT 'topic_unwritable', u.cluster, i.subject, i.began_at, u.topic, u.from_ts, u.to_ts
  FROM unexplained u
  JOIN unexplained_incident i ON i.cluster = u.cluster AND i.island = u.island
),
affected_count AS (
  SELECT kind, cluster, subject, began_at, count(DISTINCT topic) AS topics, min(topic) AS first_topic
  FROM affected
  GROUP BY kind, cluster, subject, began_at
),
asked AS (
  SELECT
    a.kind, a.cluster, a.subject, a.began_at, sum(u.`count`) AS lookups,
    sort_array(collect_set(u.language)) AS languages
  FROM affected a
  JOIN unknown_topic_minute u
    ON u.topic = a.topic AND u.minute + 60000 > a.from_ts AND u.minute < a.to_ts
  GROUP BY a.kind, a.cluster, a.subject, a.began_at
),
incident_without_cost AS (
  SELECT
    kind, cluster, subject, from_ts, to_ts, cause, peer, brokers, broker_names, drift_topics, drift_topic,
    name_servers, no_names, is_forgotten
  FROM cause
  UNION ALL
  SELECT
    'topic_unwritable', cluster, subject, began_at, ended_at, CAST(NULL AS STRING), CAST(NULL AS STRING), 0,
    no_names, 0, CAST(NULL AS STRING), no_names, no_names, false
  FROM unexplained_incident
)
SELECT
  i.kind, i.cluster, i.subject, i.from_ts,
  CASE WHEN i.to_ts < h.up_to THEN i.to_ts END AS to_ts,
  i.to_ts >= h.up_to AS is_open,
  i.cause, i.peer, i.brokers, i.broker_names,
  coalesce(n.topics, i.drift_topics) AS topics,
  coalesce(n.first_topic, i.drift_topic) AS first_topic,
  i.name_servers,
  coalesce(a.lookups, 0) AS lookups,
  coalesce(a.languages, i.no_names) AS languages,
  i.is_forgotten
FROM incident_without_cost i
CROSS JOIN horizon h
LEFT JOIN affected_count n
  ON n.kind = i.kind AND n.cluster = i.cluster AND n.subject = i.subject AND n.began_at = i.from_ts
LEFT JOIN asked a
  ON a.kind = i.kind AND a.cluster = i.cluster AND a.subject = i.subject AND a.began_at = i.from_ts

-- Incidents: failures with their time range, cause and cost. A topic that could not be written to belongs to the cost
-- of the failure that took its last row to write to; a topic without such a failure is an incident of its own. So are
-- deleted topics that clients go on asking for.
-- columns: kind, cluster, subject, from_ts, to_ts, is_open, cause, peer, brokers, broker_names, topics, first_topic,
--   name_servers, lookups, languages, is_forgotten, topic_ms, closed_by, from_window_ms, to_window_ms, cluster_label
-- reads: asked_topic_row, broker_session, incident_horizon, incident_part, labelled_period, topic_outage_cause,
--   topic_route, unknown_topic_minute
-- writes: incident
WITH
-- A row of a topic has the label that its name server had at its end.
labelled_route AS (
  SELECT k.cluster_label, r.*
  FROM topic_route r
  JOIN labelled_period k
    ON k.namesrv = r.namesrv AND k.from_ts < coalesce(r.valid_to, :forever)
    AND k.to_ts >= coalesce(r.valid_to, :forever)
),
vain_minute AS (
  SELECT k.cluster_label, u.*
  FROM unknown_topic_minute u
  JOIN labelled_period k ON k.namesrv = u.namesrv AND k.from_ts <= u.minute AND k.to_ts > u.minute
),
failure AS (
  SELECT
    kind AS of_kind, cluster_label, cluster, of_subject, island,
    CASE WHEN kind = 'broker_away' AND count(DISTINCT broker) >= :mass_brokers THEN 'mass_disconnect' ELSE kind END
      AS kind,
    min(subject) AS subject, min(from_ts) AS from_ts, max(to_ts) AS to_ts, min(cause) AS cause,
    min(peer) AS peer, count(DISTINCT broker) AS brokers, sort_array(collect_set(broker_name)) AS broker_names,
    count(DISTINCT topic) AS topics, min(topic) AS first_topic,
    sort_array(collect_set(namesrv)) AS name_servers,
    sort_array(collect_set(CAST(NULL AS STRING))) AS no_names,
    max(is_forgotten) = 1 AS is_forgotten,
    min(CASE WHEN cause = 'channel_closed' THEN closed_by END) AS closed_by,
    nullif(min(from_ts) - min(from_ts - coalesce(from_window_ms, 0)), 0) AS from_window_ms,
    nullif(max(to_ts) - max(to_ts - coalesce(to_window_ms, 0)), 0) AS to_window_ms
  FROM incident_part
  GROUP BY kind, cluster_label, cluster, of_subject, island
),
-- A slave that registers before its master brings topics that can't be written to for a moment: that is no failure.
changed_topic AS (
  SELECT
    o.cluster_label, o.cluster, o.topic, o.from_ts, o.to_ts, coalesce(o.cause, '') AS of_subject, o.cause, o.peer,
    o.broker_name, o.namesrv, o.from_window_ms
  FROM topic_outage_cause o
  JOIN incident_horizon h ON h.cluster_label = o.cluster_label
  WHERE o.kind IS NULL AND (o.was_writable OR o.to_ts - o.from_ts > :together_ms OR o.to_ts >= h.up_to)
),
-- The longest window of the changes of a topic and of its masters at the end of its outage.
changed_end AS (
  SELECT
    o.cluster_label, o.cluster, o.topic, o.from_ts,
    max(
      greatest(
        CASE WHEN r.valid_from = o.to_ts THEN r.from_window_ms END,
        CASE WHEN r.valid_to = o.to_ts THEN r.to_window_ms END,
        s.from_window_ms
      )
    ) AS to_window_ms
  FROM changed_topic o
  JOIN labelled_route r
    ON r.cluster_label = o.cluster_label AND r.topic = o.topic AND r.valid_from <= o.to_ts
    AND coalesce(r.valid_to, :forever) >= o.to_ts
  LEFT JOIN broker_session s
    ON s.namesrv = r.namesrv AND s.broker_name = r.broker_name AND s.broker_id = 0 AND s.valid_from = o.to_ts
  GROUP BY o.cluster_label, o.cluster, o.topic, o.from_ts
),
-- include: islands,
--   named: changed_island
--   rows: changed_topic
--   key: cluster_label, cluster, of_subject
--   order: from_ts, topic
--   continues: from_ts - lag(from_ts) OVER w <= :together_ms
-- The same change at other name servers, a moment before.
changed_row AS (
  SELECT
    i.cluster_label, i.cluster, i.of_subject, i.island, i.topic, i.from_ts, i.to_ts, i.cause, i.peer, i.broker_name,
    coalesce(r.namesrv, i.namesrv) AS namesrv, i.from_window_ms, e.to_window_ms
  FROM changed_island i
  LEFT JOIN changed_end e
    ON e.cluster_label = i.cluster_label AND e.cluster = i.cluster AND e.topic = i.topic AND e.from_ts = i.from_ts
  LEFT JOIN labelled_route r
    ON r.cluster_label = i.cluster_label AND r.topic = i.topic AND r.broker_name = i.broker_name
    AND r.to_cause = i.cause AND r.valid_to <= i.from_ts AND r.valid_to >= i.from_ts - :together_ms
),
-- include: islands,
--   named: row_island
--   rows: asked_topic_row
--   key: cluster_label, cluster, topic
--   order: valid_from, valid_to
--   continues: valid_from <= max(valid_to) OVER (
--       PARTITION BY cluster_label, cluster, topic ORDER BY valid_from, valid_to
--       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
--     )
topic_period AS (
  SELECT cluster_label, cluster, topic, island, min(valid_from) AS valid_from, max(valid_to) AS valid_to
  FROM row_island
  GROUP BY cluster_label, cluster, topic, island
),
-- The time between two periods of a topic, in which clients may ask for it in vain.
topic_absence AS (
  SELECT
    cluster_label, cluster, topic, island, valid_to AS from_ts,
    least(coalesce(lead(valid_from) OVER w, :forever), valid_to + :memory_ms) AS until
  FROM topic_period
  WINDOW w AS (PARTITION BY cluster_label, cluster, topic ORDER BY valid_from)
),
deletion AS (
  SELECT
    d.cluster_label, d.cluster, d.topic, d.from_ts, d.until, min(r.cause) AS cause, min(r.peer) AS peer,
    max(r.to_window_ms) AS from_window_ms
  FROM topic_absence d
  JOIN row_island r
    ON r.cluster_label = d.cluster_label AND r.cluster = d.cluster AND r.topic = d.topic AND r.island = d.island
    AND r.valid_to = d.from_ts
  GROUP BY d.cluster_label, d.cluster, d.topic, d.from_ts, d.until
  HAVING min(CASE WHEN r.is_deleted THEN 1 ELSE 0 END) = 1
),
missed_topic AS (
  SELECT
    d.cluster_label, d.cluster, d.topic, d.from_ts, coalesce(d.cause, '') AS of_subject, min(d.cause) AS cause,
    min(d.peer) AS peer,
    max(d.from_window_ms) AS from_window_ms,
    CASE
      WHEN max(u.minute) + 120000 >= max(h.up_to) AND d.until >= max(h.up_to) THEN :forever
      ELSE least(max(u.minute) + 60000, d.until)
    END AS to_ts,
    CASE WHEN max(u.minute) + 60000 >= d.from_ts + :memory_ms THEN 1 ELSE 0 END AS is_forgotten
  FROM deletion d
  JOIN vain_minute u
    ON u.cluster_label = d.cluster_label AND u.topic = d.topic AND u.minute + 60000 > d.from_ts AND u.minute < d.until
  JOIN incident_horizon h ON h.cluster_label = d.cluster_label
  GROUP BY d.cluster_label, d.cluster, d.topic, d.from_ts, d.until, d.cause
),
-- include: islands,
--   named: missed_island
--   rows: missed_topic
--   key: cluster_label, cluster, of_subject
--   order: from_ts, topic
--   continues: from_ts - lag(from_ts) OVER w <= :together_ms
missed_row AS (
  SELECT i.*, r.broker_name, r.namesrv
  FROM missed_island i
  JOIN asked_topic_row r
    ON r.cluster_label = i.cluster_label AND r.cluster = i.cluster AND r.topic = i.topic AND r.valid_to <= i.from_ts
    AND r.valid_to >= i.from_ts - :together_ms AND r.is_deleted
),
every_incident AS (
  SELECT
    of_kind, cluster_label, cluster, of_subject, island, kind, subject, from_ts, to_ts, cause, peer, brokers,
    broker_names, topics, first_topic, name_servers, no_names, is_forgotten, closed_by, from_window_ms, to_window_ms
  FROM failure
  UNION ALL
  SELECT
    'topic_unwritable', cluster_label, cluster, of_subject, island, 'topic_unwritable', min(topic), min(from_ts),
    max(to_ts), min(cause), min(peer), count(DISTINCT broker_name), sort_array(collect_set(broker_name)), 0,
    CAST(NULL AS STRING), sort_array(collect_set(namesrv)), sort_array(collect_set(CAST(NULL AS STRING))),
    false, CAST(NULL AS STRING), nullif(min(from_ts) - min(from_ts - coalesce(from_window_ms, 0)), 0),
    nullif(max(to_ts) - max(to_ts - coalesce(to_window_ms, 0)), 0)
  FROM changed_row
  GROUP BY cluster_label, cluster, of_subject, island
  UNION ALL
  SELECT
    'topic_deleted', cluster_label, cluster, of_subject, island, 'topic_deleted', min(topic), min(from_ts), max(to_ts),
    min(cause), min(peer), count(DISTINCT broker_name), sort_array(collect_set(broker_name)), count(DISTINCT topic),
    min(topic),
    sort_array(collect_set(namesrv)), sort_array(collect_set(CAST(NULL AS STRING))), max(is_forgotten) = 1,
    CAST(NULL AS STRING), nullif(min(from_ts) - min(from_ts - coalesce(from_window_ms, 0)), 0), CAST(NULL AS BIGINT)
  FROM missed_row
  GROUP BY cluster_label, cluster, of_subject, island
),
-- The topics that each incident cost, with the time. A namesrv limits the lookups that count to those of one.
affected AS (
  SELECT
    kind AS of_kind, cluster_label, part_cluster AS cluster, of_subject, island, topic, from_ts, to_ts,
    CAST(NULL AS STRING) AS namesrv, 1 AS is_lost
  FROM topic_outage_cause
  WHERE kind IS NOT NULL
  UNION ALL
  SELECT 'topic_unwritable', cluster_label, cluster, of_subject, island, topic, from_ts, to_ts, CAST(NULL AS STRING), 1
  FROM changed_island
  UNION ALL
  SELECT 'topic_deleted', cluster_label, cluster, of_subject, island, topic, from_ts, to_ts, CAST(NULL AS STRING), 0
  FROM missed_island
  UNION ALL
  SELECT p.kind, p.cluster_label, p.cluster, p.of_subject, p.island, p.topic, p.from_ts, p.to_ts, p.namesrv, 0
  FROM incident_part p
  WHERE p.kind = 'drift' AND p.topic IS NOT NULL
  UNION ALL
  SELECT DISTINCT
    p.kind, p.cluster_label, p.cluster, p.of_subject, p.island, r.topic, p.from_ts, p.to_ts, p.namesrv, 0
  FROM incident_part p
  JOIN asked_topic_row r
    ON r.cluster_label = p.cluster_label AND r.broker_name = p.broker_name AND r.valid_from < p.to_ts
    AND r.valid_to > p.from_ts
  WHERE p.kind = 'drift' AND p.topic IS NULL
),
lost_topic AS (
  SELECT
    a.of_kind, a.cluster_label, a.cluster, a.of_subject, a.island, count(DISTINCT a.topic) AS topics,
    min(a.topic) AS first_topic,
    sum(least(a.to_ts, h.up_to) - a.from_ts) AS topic_ms
  FROM affected a
  JOIN incident_horizon h ON h.cluster_label = a.cluster_label
  WHERE a.is_lost = 1
  GROUP BY a.of_kind, a.cluster_label, a.cluster, a.of_subject, a.island
),
-- A minute counts once, even if the topic was lost twice in it.
asked_minute AS (
  SELECT DISTINCT
    a.of_kind, a.cluster_label, a.cluster, a.of_subject, a.island, u.namesrv, u.boot, u.seq, u.minute, u.topic,
    u.language, u.client_version, u.`count`
  FROM affected a
  JOIN vain_minute u
    ON u.cluster_label = a.cluster_label AND u.topic = a.topic AND u.minute + 60000 > a.from_ts AND u.minute < a.to_ts
    AND coalesce(a.namesrv, u.namesrv) IS NOT DISTINCT FROM u.namesrv
),
asked AS (
  SELECT
    of_kind, cluster_label, cluster, of_subject, island, sum(`count`) AS lookups,
    sort_array(collect_set(language)) AS languages
  FROM asked_minute
  GROUP BY of_kind, cluster_label, cluster, of_subject, island
)
SELECT
  i.kind, i.cluster, i.subject, i.from_ts,
  CASE WHEN i.to_ts < h.up_to THEN i.to_ts END AS to_ts,
  i.to_ts >= h.up_to AS is_open,
  i.cause, i.peer, i.brokers, i.broker_names,
  coalesce(n.topics, i.topics) AS topics,
  coalesce(n.first_topic, i.first_topic) AS first_topic,
  i.name_servers,
  coalesce(a.lookups, 0) AS lookups,
  coalesce(a.languages, i.no_names) AS languages,
  i.is_forgotten,
  coalesce(n.topic_ms, 0) AS topic_ms,
  i.closed_by,
  i.from_window_ms,
  CASE WHEN i.to_ts < h.up_to THEN i.to_window_ms END AS to_window_ms,
  nullif(i.cluster_label, '') AS cluster_label
FROM every_incident i
JOIN incident_horizon h ON h.cluster_label = i.cluster_label
LEFT JOIN lost_topic n
  ON n.of_kind = i.of_kind AND n.cluster_label = i.cluster_label AND n.cluster IS NOT DISTINCT FROM i.cluster
  AND n.of_subject = i.of_subject AND n.island = i.island
LEFT JOIN asked a
  ON a.of_kind = i.of_kind AND a.cluster_label = i.cluster_label AND a.cluster IS NOT DISTINCT FROM i.cluster
  AND a.of_subject = i.of_subject AND a.island = i.island

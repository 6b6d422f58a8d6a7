-- How long each topic could be written to on each day, and at which name server this was longest impossible.
-- columns: day, cluster, topic, writable_ms, unwritable_ms, no_route_ms, unknown_ms, worst_namesrv, worst_ms,
--   uncertain_ms, cluster_label
-- reads: report_day, topic_state, topic_witness, topic_writable
-- writes: topic_availability_daily
WITH count_change AS (
  SELECT
    w.namesrv, s.cluster_label, s.cluster, s.topic, s.valid_from AS at_ts, 1 AS expected, 0 AS witness, 0 AS writable
  FROM topic_state s
  JOIN (SELECT DISTINCT namesrv, cluster_label, cluster, topic FROM topic_witness) AS w
    ON w.cluster_label = s.cluster_label AND w.cluster = s.cluster AND w.topic = s.topic
  UNION ALL
  SELECT w.namesrv, s.cluster_label, s.cluster, s.topic, s.valid_to, -1, 0, 0
  FROM topic_state s
  JOIN (SELECT DISTINCT namesrv, cluster_label, cluster, topic FROM topic_witness) AS w
    ON w.cluster_label = s.cluster_label AND w.cluster = s.cluster AND w.topic = s.topic
  UNION ALL
  SELECT namesrv, cluster_label, cluster, topic, valid_from, 0, 1, 0 FROM topic_witness
  UNION ALL
  SELECT namesrv, cluster_label, cluster, topic, valid_to, 0, -1, 0 FROM topic_witness
  UNION ALL
  SELECT namesrv, cluster_label, cluster, topic, valid_from, 0, 0, 1 FROM topic_writable
  UNION ALL
  SELECT namesrv, cluster_label, cluster, topic, valid_to, 0, 0, -1 FROM topic_writable
),
-- include: running_counts,
--   key: namesrv, cluster_label, cluster, topic
--   sums: sum(expected) AS expected, sum(witness) AS witness, sum(writable) AS writable
--   running: sum(expected) OVER w AS expected, sum(witness) OVER w AS witness, sum(writable) OVER w AS writable
lost_at AS (
  SELECT
    d.day, c.cluster_label, c.cluster, c.topic, c.namesrv,
    sum(least(c.until, d.to_ts) - greatest(c.at_ts, d.from_ts)) AS lost_ms
  FROM running_count c
  JOIN report_day d ON c.at_ts < d.to_ts AND c.until > d.from_ts
  WHERE c.expected > 0 AND c.witness > 0 AND c.writable = 0
  GROUP BY d.day, c.cluster_label, c.cluster, c.topic, c.namesrv
),
worst AS (
  SELECT
    day, cluster_label, cluster, topic, max_by(namesrv, (lost_ms, namesrv)) AS worst_namesrv,
    max(lost_ms) AS worst_ms
  FROM lost_at
  GROUP BY day, cluster_label, cluster, topic
),
best AS (
  SELECT
    d.day, s.cluster_label, s.cluster, s.topic, s.state,
    least(s.valid_to, d.to_ts) - greatest(s.valid_from, d.from_ts) AS ms
  FROM topic_state s
  JOIN report_day d ON s.valid_from < d.to_ts AND s.valid_to > d.from_ts
  UNION ALL
  SELECT
    d.day, s.cluster_label, s.cluster, s.topic, 'uncertain',
    least(s.valid_to, d.to_ts) - greatest(s.uncertain_from, d.from_ts)
  FROM topic_state s
  JOIN report_day d ON s.uncertain_from < d.to_ts AND s.valid_to > d.from_ts
)
SELECT
  b.day, b.cluster, b.topic,
  sum(CASE WHEN b.state = 'writable' THEN b.ms ELSE 0 END) AS writable_ms,
  sum(CASE WHEN b.state = 'unwritable' THEN b.ms ELSE 0 END) AS unwritable_ms,
  sum(CASE WHEN b.state = 'no_route' THEN b.ms ELSE 0 END) AS no_route_ms,
  sum(CASE WHEN b.state = 'unknown' THEN b.ms ELSE 0 END) AS unknown_ms,
  max(w.worst_namesrv) AS worst_namesrv,
  coalesce(max(w.worst_ms), 0) AS worst_ms,
  sum(CASE WHEN b.state = 'uncertain' THEN b.ms END) AS uncertain_ms,
  nullif(b.cluster_label, '') AS cluster_label
FROM best b
LEFT JOIN worst w
  ON w.day = b.day AND w.cluster_label = b.cluster_label AND w.cluster = b.cluster AND w.topic = b.topic
GROUP BY b.day, b.cluster_label, b.cluster, b.topic

-- When a topic could not be written to though it was expected, cut at midnight.
-- columns: day, cluster, topic, state, valid_from, valid_to, cluster_label
-- reads: report_day, topic_state
-- writes: topic_outage_daily
WITH outage AS (
  SELECT cluster_label, cluster, topic, state, valid_from, valid_to
  FROM topic_state
  WHERE state IN ('unwritable', 'no_route')
),
-- include: islands,
--   named: island
--   rows: outage
--   key: cluster_label, cluster, topic
--   order: valid_from
--   continues: lag(valid_to) OVER w = valid_from AND lag(state) OVER w = state
period AS (
  SELECT cluster_label, cluster, topic, state, min(valid_from) AS valid_from, max(valid_to) AS valid_to
  FROM island
  GROUP BY cluster_label, cluster, topic, state, island
)
SELECT
  d.day, p.cluster, p.topic, p.state,
  greatest(p.valid_from, d.from_ts) AS valid_from,
  least(p.valid_to, d.to_ts) AS valid_to,
  nullif(p.cluster_label, '') AS cluster_label
FROM period p
JOIN report_day d ON p.valid_from < d.to_ts AND p.valid_to > d.from_ts

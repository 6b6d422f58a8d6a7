-- A state of one of the least available brokers, on a day. States other than up come first, the longest
-- first.
-- columns: day, cluster, broker_name, broker_id, state, valid_from, valid_to, cluster_label
-- reads: broker_availability_daily, broker_state_daily
WITH total AS (
  SELECT cluster_label, cluster, broker_name, broker_id, sum(up_ms) AS up_ms, sum(down_ms) AS down_ms
  FROM broker_availability_daily
  WHERE (:first_day IS NULL OR day >= :first_day) AND (:last_day IS NULL OR day <= :last_day)
    AND (:label IS NULL OR cluster_label = :label)
  GROUP BY cluster_label, cluster, broker_name, broker_id
),
worst AS (
  SELECT cluster_label, cluster, broker_name, broker_id
  FROM total
  ORDER BY
    CASE WHEN up_ms + down_ms > 0 THEN up_ms / (up_ms + down_ms) END ASC NULLS LAST, cluster, broker_name,
    broker_id, cluster_label NULLS FIRST
  LIMIT :brokers
)
SELECT s.day, s.cluster, s.broker_name, s.broker_id, s.state, s.valid_from, s.valid_to, s.cluster_label
FROM broker_state_daily s
INNER JOIN worst w
  ON w.cluster_label IS NOT DISTINCT FROM s.cluster_label AND w.cluster = s.cluster AND w.broker_name = s.broker_name
  AND w.broker_id = s.broker_id
WHERE (:first_day IS NULL OR s.day >= :first_day) AND (:last_day IS NULL OR s.day <= :last_day)
  AND (:label IS NULL OR s.cluster_label = :label)
ORDER BY
  CASE s.state WHEN 'down' THEN 0 WHEN 'unknown' THEN 1 WHEN 'unregistered' THEN 2 ELSE 3 END,
  s.valid_to - s.valid_from DESC,
  s.valid_from, s.cluster, s.broker_name, s.broker_id, s.cluster_label NULLS FIRST

-- A difference between name servers that ended on these days, about a broker or about a topic.
-- columns: cluster, broker_name, broker_id, broker_addr, topic, held_by, missing_at, views, valid_from,
--   valid_to, is_open, from_window_ms, to_window_ms, cluster_label
-- reads: view_drift_broker, view_drift_topic
SELECT
  cluster, broker_name, broker_id, broker_addr, NULL AS topic, held_by, missing_at, NULL AS views,
  valid_from, valid_to, is_open, from_window_ms, to_window_ms, cluster_label
FROM view_drift_broker
WHERE
  (:first_day IS NULL OR valid_to_day >= :first_day) AND (:last_day IS NULL OR valid_to_day <= :last_day)
  AND (:label IS NULL OR cluster_label = :label)
UNION ALL
SELECT
  cluster, broker_name, NULL AS broker_id, NULL AS broker_addr, topic, NULL AS held_by, NULL AS missing_at, views,
  valid_from, valid_to, is_open, from_window_ms, to_window_ms, cluster_label
FROM view_drift_topic
WHERE
  (:first_day IS NULL OR valid_to_day >= :first_day) AND (:last_day IS NULL OR valid_to_day <= :last_day)
  AND (:label IS NULL OR cluster_label = :label)
ORDER BY valid_from, cluster, broker_name, topic NULLS FIRST, broker_id, broker_addr, cluster_label NULLS FIRST

-- Topics and queues of a broker name on the last known day; most queues first.
-- columns: day, cluster, broker_name, topics, read_queues, write_queues, writable_topics, body_bytes,
--   frame_used, cluster_label
-- reads: capacity_daily, name_server_label_daily
WITH last_day AS (
  SELECT max(day) AS day
  FROM capacity_daily
  WHERE (:first_day IS NULL OR day >= :first_day) AND (:last_day IS NULL OR day <= :last_day)
    AND (:label IS NULL OR namesrv IN (SELECT namesrv FROM name_server_label_daily WHERE cluster_label = :label))
)
SELECT
  c.day, c.cluster, c.broker_name, max(c.topics) AS topics, max(c.read_queues) AS read_queues,
  max(c.write_queues) AS write_queues, max(c.writable_topics) AS writable_topics,
  max(c.body_bytes) AS body_bytes, max(c.frame_used) AS frame_used, k.cluster_label
FROM capacity_daily c
INNER JOIN last_day l ON l.day = c.day
LEFT JOIN name_server_label_daily k ON k.day = c.day AND k.namesrv = c.namesrv
WHERE :label IS NULL OR k.cluster_label = :label
GROUP BY c.day, k.cluster_label, c.cluster, c.broker_name
ORDER BY write_queues DESC, c.cluster, c.broker_name, k.cluster_label NULLS FIRST

-- Queues of a cluster on a day.
-- columns: day, cluster, write_queues, frame_used
-- reads: capacity_daily, name_server_label_daily
WITH of_broker_name AS (
  SELECT
    c.day, c.cluster, c.broker_name, max(c.write_queues) AS write_queues, max(c.frame_used) AS frame_used
  FROM capacity_daily c
  LEFT JOIN name_server_label_daily k ON k.day = c.day AND k.namesrv = c.namesrv
  WHERE (:first_day IS NULL OR c.day >= :first_day) AND (:last_day IS NULL OR c.day <= :last_day)
    AND (:label IS NULL OR k.cluster_label = :label)
  GROUP BY c.day, k.cluster_label, c.cluster, c.broker_name
)
SELECT day, cluster, sum(write_queues) AS write_queues, max(frame_used) AS frame_used
FROM of_broker_name
GROUP BY day, cluster
ORDER BY day, cluster

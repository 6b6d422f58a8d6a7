-- Queues of a cluster on a day.
-- columns: day, cluster, write_queues, frame_used
-- reads: capacity_daily
WITH of_broker_name AS (
  SELECT
    day, cluster, broker_name, max(write_queues) AS write_queues, max(frame_used) AS frame_used
  FROM capacity_daily
  WHERE (:first_day IS NULL OR day >= :first_day) AND (:last_day IS NULL OR day <= :last_day)
  GROUP BY day, cluster, broker_name
)
SELECT day, cluster, sum(write_queues) AS write_queues, max(frame_used) AS frame_used
FROM of_broker_name
GROUP BY day, cluster
ORDER BY day, cluster

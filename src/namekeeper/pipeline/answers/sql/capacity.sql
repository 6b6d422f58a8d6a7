-- Topics and queues of a broker name on a day, as seen by the name server that held most of them.
-- columns: day, cluster, broker_name, topics, read_queues, write_queues, writable_topics, body_bytes,
--   frame_used
-- reads: capacity_daily
SELECT
  day, cluster, broker_name, max(topics) AS topics, max(read_queues) AS read_queues,
  max(write_queues) AS write_queues, max(writable_topics) AS writable_topics, max(body_bytes) AS body_bytes,
  max(frame_used) AS frame_used
FROM capacity_daily
WHERE (:first_day IS NULL OR day >= :first_day) AND (:last_day IS NULL OR day <= :last_day)
GROUP BY day, cluster, broker_name
ORDER BY day, cluster, broker_name

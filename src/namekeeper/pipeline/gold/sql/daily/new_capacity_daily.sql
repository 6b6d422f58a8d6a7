-- Topics and queues of each broker name at the end of each day, or at its last known time on that day.
-- columns: day, namesrv, cluster, broker_name, at_ts, topics, read_queues, write_queues, writable_topics, body_bytes,
--   frame_used
-- reads: heartbeat_gap_daily, registered_broker, registered_broker_name, report_day, topic_route, up_period
-- writes: capacity_daily
WITH snapshot_time AS (
  SELECT d.day, u.namesrv, max(least(u.valid_to, d.to_ts)) - 1 AS at_ts
  FROM up_period u
  JOIN report_day d ON u.valid_from < d.to_ts AND u.valid_to > d.from_ts
  GROUP BY d.day, u.namesrv
),
broker_name_then AS (
  SELECT l.day, l.at_ts, h.namesrv, h.cluster, h.broker_name
  FROM snapshot_time l
  JOIN registered_broker_name h ON h.namesrv = l.namesrv AND h.valid_from <= l.at_ts AND h.valid_to > l.at_ts
),
master_then AS (
  SELECT DISTINCT l.day, l.namesrv, b.broker_name
  FROM snapshot_time l
  JOIN registered_broker b
    ON b.namesrv = l.namesrv AND b.broker_id = 0 AND b.valid_from <= l.at_ts AND b.valid_to > l.at_ts
),
topic_count AS (
  SELECT
    l.day, l.namesrv, t.broker_name, count(*) AS topics,
    sum(t.read_queue_nums) AS read_queues, sum(t.write_queue_nums) AS write_queues,
    sum(
      CASE WHEN t.perm & 2 <> 0 AND t.write_queue_nums > 0 AND m.broker_name IS NOT NULL THEN 1 ELSE 0 END
    ) AS writable_topics
  FROM snapshot_time l
  JOIN topic_route t
    ON t.namesrv = l.namesrv AND t.valid_from <= l.at_ts AND coalesce(t.valid_to, :forever) > l.at_ts
  LEFT JOIN master_then m ON m.day = l.day AND m.namesrv = l.namesrv AND m.broker_name = t.broker_name
  GROUP BY l.day, l.namesrv, t.broker_name
),
registration_size AS (
  SELECT day, namesrv, broker_name, max(body_bytes) AS body_bytes
  FROM heartbeat_gap_daily
  WHERE day IN (SELECT day FROM report_day)
  GROUP BY day, namesrv, broker_name
)
SELECT
  h.day, h.namesrv, h.cluster, h.broker_name, h.at_ts,
  coalesce(c.topics, 0) AS topics,
  coalesce(c.read_queues, 0) AS read_queues,
  coalesce(c.write_queues, 0) AS write_queues,
  coalesce(c.writable_topics, 0) AS writable_topics,
  s.body_bytes,
  CAST(s.body_bytes AS DOUBLE) / :frame_limit_bytes AS frame_used
FROM broker_name_then h
LEFT JOIN topic_count c ON c.day = h.day AND c.namesrv = h.namesrv AND c.broker_name = h.broker_name
LEFT JOIN registration_size s ON s.day = h.day AND s.namesrv = h.namesrv AND s.broker_name = h.broker_name

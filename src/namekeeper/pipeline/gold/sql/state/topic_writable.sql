-- When a name server had a topic with a queue that can be written to, under a master; once for each broker name.
-- columns: namesrv, cluster_label, cluster, topic, valid_from, valid_to, from_window_ms, to_window_ms
-- reads: registered_broker, registered_topic
-- not kept: two views read it, and a join of kept views is cheaper than writing it
SELECT
  t.namesrv, t.cluster_label, t.cluster, t.topic,
  greatest(t.valid_from, h.valid_from) AS valid_from,
  least(t.valid_to, h.valid_to) AS valid_to,
  greatest(
    CASE WHEN t.valid_from >= h.valid_from THEN t.from_window_ms END,
    CASE WHEN h.valid_from >= t.valid_from THEN h.from_window_ms END
  ) AS from_window_ms,
  greatest(
    CASE WHEN t.valid_to <= h.valid_to THEN t.to_window_ms END,
    CASE WHEN h.valid_to <= t.valid_to THEN h.to_window_ms END
  ) AS to_window_ms
FROM registered_topic t
JOIN registered_broker h
  ON h.namesrv = t.namesrv AND h.broker_name = t.broker_name AND h.broker_id = 0
  AND h.valid_from < t.valid_to AND h.valid_to > t.valid_from
WHERE t.perm & 2 <> 0 AND t.write_queue_nums > 0

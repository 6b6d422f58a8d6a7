-- A row of a topic, from when to when, with what began and ended it.
-- columns: namesrv, broker_name, topic, read_queue_nums, write_queue_nums, perm, topic_sys_flag, valid_from,
--   valid_to, from_cause, from_peer, ended_by, to_cause, to_peer, reason
-- reads: topic_route
SELECT
  namesrv, broker_name, topic, read_queue_nums, write_queue_nums, perm, topic_sys_flag, valid_from, valid_to,
  from_cause, from_peer, ended_by, to_cause, to_peer, reason
FROM topic_route
WHERE topic = :topic AND (:namesrv IS NULL OR namesrv = :namesrv)
ORDER BY namesrv, broker_name, valid_from

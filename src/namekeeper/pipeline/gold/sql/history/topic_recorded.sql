-- The records of topic rows that count: changes, and checkpoints at which a run begins (see checkpoint_run).
-- columns: namesrv, boot, place, seq, checkpoint, cause, peer, broker_name, topic, bucket, read_queue_nums,
--   write_queue_nums, perm, topic_sys_flag, gone, reason
-- reads: bucketed_topic_row, topic_change
-- filled from: checkpoint_run_start
SELECT * FROM topic_change
UNION ALL
SELECT
  namesrv, boot, place, seq, checkpoint, cause, peer, broker_name, topic, bucket,
  read_queue_nums, write_queue_nums, perm, topic_sys_flag, gone, CAST(NULL AS STRING) AS reason
FROM bucketed_topic_row
WHERE {starts_a_run}

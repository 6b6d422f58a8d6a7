-- What is told of each topic row, as far as it counts: changes, and checkpoints at which a run begins (see topic_run).
SELECT * FROM topic_changed
UNION ALL
SELECT
  namesrv, boot, place, seq, checkpoint, cause, peer, broker_name, topic, handful,
  read_queue_nums, write_queue_nums, perm, topic_sys_flag, gone, CAST(NULL AS STRING) AS reason
FROM topic_in_handful
WHERE {begins_a_run}

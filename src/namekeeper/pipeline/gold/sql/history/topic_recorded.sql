-- The records of topic rows that count: changes, and checkpoints at which a run begins (see checkpoint_run).
-- columns: namesrv, boot, place, seq, checkpoint, cause, peer, window_ms, broker_name, topic, bucket,
--   {values of topic_row}, gone, reason
-- reads: bucketed_topic_row, topic_change
-- filled from: checkpoint_run_start
SELECT * FROM topic_change
UNION ALL
SELECT
  namesrv, boot, place, seq, checkpoint, cause, peer, window_ms, broker_name, topic, bucket,
  {values of topic_row}, gone, CAST(NULL AS STRING) AS reason
FROM bucketed_topic_row
WHERE {starts_a_run}

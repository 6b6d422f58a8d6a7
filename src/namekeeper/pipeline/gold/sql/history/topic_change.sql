-- Records of topic rows between checkpoints. A removed broker name ends all rows of its name that were
-- recorded before.
-- columns: namesrv, boot, place, seq, checkpoint, cause, peer, window_ms, broker_name, topic, bucket,
--   {values of topic_row}, gone, reason
-- reads: broker_name_removed, bucketed_topic_row, known_position
-- not kept: the views that read it use few of its rows
SELECT
  namesrv, boot, place, seq, checkpoint, cause, peer, window_ms, broker_name, topic, bucket,
  {values of topic_row}, gone, CAST(NULL AS STRING) AS reason
FROM bucketed_topic_row
WHERE checkpoint IS NULL
UNION ALL
SELECT DISTINCT
  r.namesrv, r.boot, r.place, r.seq, CAST(NULL AS BIGINT), r.cause, r.peer, r.window_ms, r.broker_name, t.topic,
  t.bucket,
  {nulls of topic_row}, true, 'broker_name_removed'
FROM broker_name_removed r
JOIN known_position k ON k.namesrv = r.namesrv AND k.boot = r.boot AND k.position = r.place
JOIN bucketed_topic_row t
  ON t.namesrv = r.namesrv AND t.boot = r.boot AND t.broker_name = r.broker_name
  AND t.place >= k.span AND t.place < r.place

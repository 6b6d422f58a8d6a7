-- For each checkpoint and each bucket of topics of a broker name a number: equal numbers mean equal rows.
-- columns: namesrv, boot, checkpoint, broker_name, bucket, topics, fingerprint
-- reads: bucketed_topic_row
-- kept: it is computed while other views sort the records
SELECT
  namesrv, boot, checkpoint, broker_name, bucket, count(*) AS topics,
  bit_xor(xxhash64(topic_hash, {values of topic_row}, gone)) AS fingerprint
FROM bucketed_topic_row
WHERE checkpoint IS NOT NULL
GROUP BY namesrv, boot, checkpoint, broker_name, bucket

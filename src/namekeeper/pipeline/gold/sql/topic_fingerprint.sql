-- What each checkpoint says of a handful of topics of a broker name, as a number: equal numbers, equal rows.
SELECT
  namesrv, boot, checkpoint, broker_name, bucket, count(*) AS topics,
  bit_xor(xxhash64(topic_hash, read_queue_nums, write_queue_nums, perm, topic_sys_flag, gone)) AS fingerprint
FROM bucketed_topic_row
WHERE checkpoint IS NOT NULL
GROUP BY namesrv, boot, checkpoint, broker_name, bucket

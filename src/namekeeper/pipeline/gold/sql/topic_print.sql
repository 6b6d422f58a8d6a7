-- What each checkpoint says of a handful of topics of a broker name, as a number: equal numbers, equal rows.
SELECT
  namesrv, boot, checkpoint, broker_name, handful, count(*) AS topics,
  bit_xor(xxhash64(topic_number, read_queue_nums, write_queue_nums, perm, topic_sys_flag, gone)) AS print
FROM topic_in_handful
WHERE checkpoint IS NOT NULL
GROUP BY namesrv, boot, checkpoint, broker_name, handful

-- How each name server that holds a broker name sees each of its topics, on corrected time.
SELECT
  t.namesrv, t.cluster, t.broker_name, t.topic,
  concat(
    'read ', CAST(t.read_queue_nums AS STRING), ', write ', CAST(t.write_queue_nums AS STRING),
    ', perm ', CAST(t.perm AS STRING), ', flag ', CAST(t.topic_sys_flag AS STRING)
  ) AS seen,
  t.valid_from AS uncorrected_from, t.valid_to AS uncorrected_to,
  t.valid_from - coalesce(a.offset_ms, 0) AS valid_from,
  t.valid_to - coalesce(b.offset_ms, 0) AS valid_to
FROM registered_topic t
LEFT JOIN name_server_clock_daily a ON a.namesrv = t.namesrv AND a.day = day_of(t.valid_from, :zone)
LEFT JOIN name_server_clock_daily b ON b.namesrv = t.namesrv AND b.day = day_of(t.valid_to, :zone)

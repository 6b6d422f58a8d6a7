-- The view of each name server on the topics of its registered broker names, on corrected time.
-- columns: namesrv, cluster, broker_name, topic, seen, from_window_ms, to_window_ms, uncorrected_from, uncorrected_to,
--   valid_from, valid_to
-- reads: name_server_clock_daily, registered_topic
SELECT
  t.namesrv, t.cluster, t.broker_name, t.topic,
  concat(
    'read ', CAST(t.read_queue_nums AS STRING), ', write ', CAST(t.write_queue_nums AS STRING),
    ', perm ', CAST(t.perm AS STRING), ', flag ', CAST(t.topic_sys_flag AS STRING)
  ) AS seen,
  t.from_window_ms, t.to_window_ms,
  -- include: corrected_times
  --   row: t
FROM registered_topic t
-- include: clock_of_period
--   row: t

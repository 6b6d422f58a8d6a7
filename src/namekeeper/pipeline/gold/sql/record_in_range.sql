-- Records of the work, by raw seq, and the wall at the end of each range: the complete checkpoint, known from
-- an earlier run, from which on nothing changes.
SELECT
  e.namesrv, w.range_id, e.boot, e.seq, e.checkpoint, e.kind, e.ts, false AS is_range_end,
  e.kind IN ('broker_minute', 'lookup_hour', 'unknown_topic_minute', 'denied', 'server_alive') AS is_activity
FROM events e
JOIN recompute_range w
  ON e.namesrv = w.namesrv
  AND (e.boot > w.from_boot OR (e.boot = w.from_boot AND e.seq >= w.from_position))
  AND (e.boot < w.to_boot OR (e.boot = w.to_boot AND e.seq < w.to_position))
UNION ALL
SELECT namesrv, range_id, to_boot, to_position, CAST(NULL AS BIGINT), 'checkpoint_begin', to_ts, true, false
FROM recompute_range
WHERE to_ts < :forever

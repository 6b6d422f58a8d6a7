-- Records of the work, by raw seq, and the wall at the end of each range: the complete checkpoint, known from
-- an earlier run, from which on nothing changes.
SELECT
  e.namesrv, w.range_id, e.boot, e.seq, e.checkpoint, e.kind, e.ts, false AS is_wall,
  e.kind IN ('broker_minute', 'lookup_hour', 'unknown_topic_minute', 'denied', 'server_alive') AS is_activity
FROM events e
JOIN work w
  ON e.namesrv = w.namesrv
  AND (e.boot > w.from_boot OR (e.boot = w.from_boot AND e.seq >= w.from_place))
  AND (e.boot < w.to_boot OR (e.boot = w.to_boot AND e.seq < w.to_place))
UNION ALL
SELECT namesrv, range_id, to_boot, to_place, CAST(NULL AS BIGINT), 'checkpoint_begin', to_ts, true, false
FROM work
WHERE to_ts < :forever

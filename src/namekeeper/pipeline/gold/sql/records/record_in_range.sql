-- Records inside the ranges to recompute, by seq. A range ends before a complete checkpoint of an earlier
-- run, after which nothing changes: this checkpoint is one more row, with is_range_end.
-- columns: namesrv, range_id, boot, seq, checkpoint, kind, ts, is_range_end, is_activity
-- reads: events, recompute_range
-- not kept: these are all records; an engine reads the few columns from the files again
SELECT
  e.namesrv, w.range_id, e.boot, e.seq, e.checkpoint, e.kind, e.ts, false AS is_range_end,
  e.kind IN ('broker_minute', 'lookup_hour', 'unknown_topic_minute', 'denied', 'access', 'server_alive') AS is_activity
FROM events e
JOIN recompute_range w
  ON
    -- include: in_recompute_range
    --   row: e
    --   position: seq
UNION ALL
SELECT namesrv, range_id, to_boot, to_position, CAST(NULL AS BIGINT), 'checkpoint_begin', to_ts, true, false
FROM recompute_range
WHERE to_ts < :forever

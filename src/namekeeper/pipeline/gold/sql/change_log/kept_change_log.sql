-- Rows of earlier runs outside the recompute ranges.
-- columns: day, at_ts, ts, namesrv, boot, seq, cause, peer, kind, action, cluster, broker_name, broker_addr, topic,
--   items, detail, window_ms
-- reads: old_change_log, recompute_range
SELECT o.*
FROM old_change_log o
WHERE NOT EXISTS (
  SELECT 1 FROM recompute_range w
  WHERE
    -- include: in_recompute_range
    --   row: o
    --   position: seq
)

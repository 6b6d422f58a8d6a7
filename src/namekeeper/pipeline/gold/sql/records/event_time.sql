-- The effective time of records: the smallest ts of the record and of all later ones. Activity is only
-- here near a gap or a step of the clock: elsewhere its time makes no difference.
-- columns: namesrv, range_id, boot, position, kind, is_activity, is_range_end, ts, eff_ts
-- reads: record_block, record_in_range
-- kept: several views read it
WITH timed_record AS (
  SELECT /*+ BROADCAST(b) */
    i.namesrv, i.range_id, i.boot, i.seq AS position, i.kind, i.is_activity, i.is_range_end, i.ts,
    b.has_hole, b.clock_steps,
    least(
      b.later_ts,
      min(i.ts) OVER (
        PARTITION BY i.namesrv, i.range_id, i.boot, b.block, i.is_range_end ORDER BY i.seq DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
      )
    ) AS eff_ts
  FROM record_in_range i
  JOIN record_block b
    ON b.namesrv = i.namesrv AND b.range_id = i.range_id AND b.boot = i.boot
    AND b.block = i.seq - i.seq % :block_records AND b.is_range_end = i.is_range_end
  WHERE i.checkpoint IS NULL AND (b.changes > 0 OR b.has_hole)
)
SELECT namesrv, range_id, boot, position, kind, is_activity, is_range_end, ts, eff_ts
FROM timed_record
WHERE NOT is_activity OR has_hole OR clock_steps > 0

-- The relevant positions in the order, with their effective times. Rows of a checkpoint have the position and
-- time of its first record; a loss has the time of the last record before it.
-- columns: namesrv, range_id, boot, position, kind, is_range_end, ts, eff_ts
-- reads: event_time, loss, record_block
-- kept: several views read it
SELECT namesrv, range_id, boot, position, kind, is_range_end, ts, eff_ts
FROM event_time
WHERE NOT is_activity
UNION ALL
SELECT l.namesrv, l.range_id, l.boot, l.first_seq, 'loss', false, CAST(NULL AS BIGINT), max(m.eff_ts)
FROM loss l
LEFT JOIN (
  SELECT namesrv, range_id, boot, position, eff_ts FROM event_time
  UNION ALL
  SELECT namesrv, range_id, boot, last_position, last_eff_ts FROM record_block
) AS m
  ON m.namesrv = l.namesrv AND m.range_id = l.range_id
  AND (m.boot < l.boot OR (m.boot = l.boot AND m.position < l.first_seq))
GROUP BY l.namesrv, l.range_id, l.boot, l.first_seq

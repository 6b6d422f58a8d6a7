-- The relevant positions in the order, with their effective times. Rows of a checkpoint have the position and
-- time of its first record. A loss has the time of the last record before it. After a crash it has the time at which
-- the name server still ran, at most that of the next record.
-- columns: namesrv, range_id, boot, position, kind, is_range_end, ts, eff_ts
-- reads: event_time, loss, record_block
-- kept: several views read it
SELECT namesrv, range_id, boot, position, kind, is_range_end, ts, eff_ts
FROM event_time
WHERE NOT is_activity
UNION ALL
SELECT
  l.namesrv, l.range_id, l.boot, l.first_seq, 'loss', false, CAST(NULL AS BIGINT),
  greatest(max(m.eff_ts), least(coalesce(max(l.alive_ts), 0), max(n.eff_ts)))
FROM loss l
LEFT JOIN (
  SELECT namesrv, range_id, boot, position, eff_ts FROM event_time
  UNION ALL
  SELECT namesrv, range_id, boot, last_position, last_eff_ts FROM record_block
) AS m
  ON m.namesrv = l.namesrv AND m.range_id = l.range_id
  AND (m.boot < l.boot OR (m.boot = l.boot AND m.position < l.first_seq))
LEFT JOIN event_time n
  ON n.namesrv = l.namesrv AND n.range_id = l.range_id AND n.boot = l.next_boot AND n.position = l.next_seq
GROUP BY l.namesrv, l.range_id, l.boot, l.first_seq

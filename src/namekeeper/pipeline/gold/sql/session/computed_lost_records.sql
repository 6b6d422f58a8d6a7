-- Within the recompute ranges: losses, and the time that is unknown because of each.
-- columns: namesrv, boot, first_seq, next_boot, next_seq, reason, lost_records, unknown_from, unknown_to
-- reads: boundary, loss, position
SELECT
  l.namesrv, l.boot, l.first_seq, l.next_boot, l.next_seq, l.reason, l.lost_records,
  p.eff_ts AS unknown_from,
  min(b.eff_ts) AS unknown_to
FROM loss l
JOIN position p
  ON p.namesrv = l.namesrv AND p.range_id = l.range_id AND p.boot = l.boot AND p.position = l.first_seq
  AND p.kind = 'loss'
LEFT JOIN boundary b
  ON b.namesrv = l.namesrv AND b.range_id = l.range_id AND b.state = 'up'
  AND (b.boot > l.boot OR (b.boot = l.boot AND b.position > l.first_seq))
GROUP BY
  l.namesrv, l.boot, l.first_seq, l.next_boot, l.next_seq, l.reason, l.lost_records, p.eff_ts

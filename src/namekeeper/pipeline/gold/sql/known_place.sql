-- Places at which the state is known, with the complete checkpoint that it builds on and the end of what is known.
SELECT
  p.namesrv, p.boot, p.place, p.eff_ts,
  b.place AS span, coalesce(b.to_ts, :forever) AS span_to_ts, b.ended_by AS span_ended_by, b.to_boot, b.to_place
FROM boundary b
JOIN place p
  ON p.namesrv = b.namesrv AND p.range_id = b.range_id AND p.boot = b.boot AND p.place >= b.place
  AND (b.to_boot IS NULL OR b.to_boot > p.boot OR p.place < b.to_place)
WHERE b.state = 'up' AND NOT b.is_wall AND NOT p.is_wall AND p.kind <> 'loss'

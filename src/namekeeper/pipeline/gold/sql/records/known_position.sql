-- Positions at which the state is known, with the complete checkpoint that it builds on (its span) and the end of this
-- span.
-- columns: namesrv, boot, position, eff_ts, span, span_to_ts, span_ended_by, to_boot, to_position
-- reads: boundary, position
-- kept: every history reads it
SELECT
  p.namesrv, p.boot, p.position, p.eff_ts,
  b.position AS span, coalesce(b.to_ts, :forever) AS span_to_ts, b.ended_by AS span_ended_by, b.to_boot, b.to_position
FROM boundary b
JOIN position p
  ON p.namesrv = b.namesrv AND p.range_id = b.range_id AND p.boot = b.boot AND p.position >= b.position
  AND (b.to_boot IS NULL OR b.to_boot > p.boot OR p.position < b.to_position)
WHERE b.state = 'up' AND NOT b.is_range_end AND NOT p.is_range_end AND p.kind <> 'loss'

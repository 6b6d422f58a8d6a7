-- Rows of before that the work does not touch.
SELECT o.*
FROM old_change_log o
WHERE NOT EXISTS (
  SELECT 1 FROM recompute_range w
  WHERE w.namesrv = o.namesrv
    AND (o.boot > w.from_boot OR (o.boot = w.from_boot AND o.seq >= w.from_position))
    AND (o.boot < w.to_boot OR (o.boot = w.to_boot AND o.seq < w.to_position))
)

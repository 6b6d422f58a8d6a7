-- Rows outside the work as they were, rows inside it as they are now.
SELECT * FROM computed_known_span
UNION ALL
SELECT o.* FROM old_known_span o
WHERE NOT EXISTS (
  SELECT 1 FROM work w
  WHERE w.namesrv = o.namesrv
    AND (o.boot > w.from_boot OR (o.boot = w.from_boot AND o.begin_seq >= w.from_place))
    AND (o.boot < w.to_boot OR (o.boot = w.to_boot AND o.begin_seq < w.to_place))
)

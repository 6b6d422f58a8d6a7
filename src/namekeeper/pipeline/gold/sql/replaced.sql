-- Rows of {table}, which are of places: outside the work as they were, inside it as they are now.
SELECT * FROM computed_{table}
UNION ALL
SELECT o.* FROM old_{table} o
WHERE NOT EXISTS (
  SELECT 1 FROM recompute_range w
  WHERE w.namesrv = o.namesrv
    AND (o.boot > w.from_boot OR (o.boot = w.from_boot AND o.{position} >= w.from_position))
    AND (o.boot < w.to_boot OR (o.boot = w.to_boot AND o.{position} < w.to_position))
)

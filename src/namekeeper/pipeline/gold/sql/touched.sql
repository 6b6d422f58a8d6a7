-- Rows of {table} of before that the work concerns: those that overlap it, and their neighbours, to be joined.
SELECT o.*
FROM old_{table} o
WHERE EXISTS (
  SELECT 1 FROM {work} w
  WHERE {scope} o.valid_from <= w.to_ts AND coalesce(o.valid_to, :forever) >= w.from_ts
)

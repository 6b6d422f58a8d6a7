-- Rows of the partitions of {table} that are written again.
SELECT {columns} FROM merged_{table}
UNION ALL
SELECT {columns_o}
FROM old_{table} o
WHERE o.valid_to_day IN (SELECT day FROM parts_{table})
  AND NOT EXISTS (
    SELECT 1 FROM {work} w
    WHERE {scope} o.valid_from <= w.to_ts AND coalesce(o.valid_to, :forever) >= w.from_ts
  )

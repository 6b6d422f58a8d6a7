-- Rows of the partitions of {table} that are written again.
SELECT {columns} FROM merged_{table}
UNION ALL
SELECT {columns_o}
FROM old_{table} o
WHERE o.valid_to_day IN (SELECT day FROM parts_{table})
  AND NOT EXISTS (
{concerned}
)

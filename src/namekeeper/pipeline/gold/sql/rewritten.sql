-- Rows of the partitions of {table} that are written again.
SELECT {columns} FROM merged_{table}
UNION ALL
SELECT {columns_o}
FROM old_{table} o
WHERE o.valid_to_day IN (SELECT day FROM affected_partition_{table})
  AND NOT EXISTS (
{overlap}
)

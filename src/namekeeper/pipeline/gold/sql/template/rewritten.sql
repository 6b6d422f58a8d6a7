-- All rows of the partitions of {table} that are written again.
-- columns: {table_columns}
-- reads: merged_{table}, old_{table}, affected_partition_{table}, {recompute_range}
-- writes: {table}
SELECT {table_columns} FROM merged_{table}
UNION ALL
SELECT {table_columns_o}
FROM old_{table} o
WHERE o.valid_to_day IN (SELECT day FROM affected_partition_{table})
  AND NOT
  -- include: overlap

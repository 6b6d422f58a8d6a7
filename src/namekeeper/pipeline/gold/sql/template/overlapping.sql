-- Rows of {table} of earlier runs that overlap or touch a range to recompute.
-- columns: {table_columns}
-- reads: old_{table}, {recompute_range}
-- not kept: an engine reads it from the files again
SELECT {table_columns_o}
FROM old_{table} o
WHERE
  -- include: overlap

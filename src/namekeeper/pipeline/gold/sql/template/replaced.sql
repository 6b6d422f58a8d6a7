-- Rows of {table}, each with one position in the order: those of earlier runs outside the recompute ranges,
-- and the computed ones inside.
-- columns: {table_columns}
-- reads: computed_{table}, old_{table}, recompute_range
-- writes: {table}
SELECT * FROM computed_{table}
UNION ALL
SELECT o.* FROM old_{table} o
WHERE NOT EXISTS (
  SELECT 1 FROM recompute_range w
  WHERE
    -- include: in_recompute_range
    --   row: o
    --   position: {position}
)

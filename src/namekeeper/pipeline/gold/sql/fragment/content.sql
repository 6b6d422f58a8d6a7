-- Query: the rows of `$fact` within the recompute ranges, by checkpoint: how many, and a number; equal numbers mean
-- equal keys and values. They are read from `$rows`; `$compared` are their columns with the alias `f`.
SELECT
  '$fact' AS fact, f.namesrv, f.boot, f.checkpoint, count(*) AS `rows`, bit_xor(xxhash64($compared)) AS content
FROM $rows f
JOIN recompute_range w
  ON
    -- include: in_recompute_range
    --   row: f
    --   position: place
GROUP BY f.namesrv, f.boot, f.checkpoint

-- CTE joined_island: one row for the rows of `$rows` that continue each other (see island_start): `$first` as in the
-- first of them, `$last` as in the last one. `$last` is a list that lead(...) OVER w has written out.
-- Only the rows with is_first = 1 count.
-- include: island_start,
--   named: joined_island
--   rows: $rows
--   key: $key
--   order: $order
--   continues: $continues
island_bound AS (
  SELECT s.*, coalesce(lead(is_first) OVER w, 1) AS is_last
  FROM start_of_joined_island s
  WINDOW w AS (PARTITION BY $key ORDER BY $order)
),
joined_island AS (
  SELECT
    $first, is_first,
    $last
  FROM island_bound
  WHERE is_first = 1 OR is_last = 1
  WINDOW w AS (PARTITION BY $key ORDER BY $order)
)

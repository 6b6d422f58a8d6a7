-- CTE $named: the rows of `$rows`; those that continue each other have the same number in `island`. See island_start.
-- Rows that are equal in `$order` have one number: engines promise no order for them.
-- include: island_start,
--   named: $named
--   rows: $rows
--   key: $key
--   order: $order
--   continues: $continues
$named AS (
  SELECT
    s.*,
    sum(is_first) OVER (PARTITION BY $key ORDER BY $order RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS island
  FROM start_of_$named s
)

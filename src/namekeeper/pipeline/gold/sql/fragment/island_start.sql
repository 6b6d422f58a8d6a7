-- CTE start_of_$named: the rows of `$rows`, in the order `$order` for each `$key`; is_first is 0 where `$continues`
-- says that a row continues the one before it, else 1.
start_of_$named AS (
  SELECT r.*, CASE WHEN $continues THEN 0 ELSE 1 END AS is_first
  FROM $rows r
  WINDOW w AS (PARTITION BY $key ORDER BY $order)
)

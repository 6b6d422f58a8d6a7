-- CTE running_count: the sums of the changes in count_change, for each `$key`, from the time of a change
-- (at_ts) to the next one (until). `$sums` adds up the changes of one time, `$running` those of all times so
-- far.
change_time AS (
  SELECT
    $key, at_ts,
    $sums
  FROM count_change
  GROUP BY $key, at_ts
),
running_count AS (
  SELECT
    $key, at_ts,
    lead(at_ts) OVER (PARTITION BY $key ORDER BY at_ts) AS until,
    $running
  FROM change_time
  WINDOW w AS (PARTITION BY $key ORDER BY at_ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)

-- Rows of {table} as they are now: what was computed, and what is left outside the work of the rows that were there
-- before. Equal neighbours are one row, so that the result does not depend on where it was cut. A row of before that
-- began just where the work does is a piece of no length: it tells what began the equal one behind it, if that was
-- told before the work, and counts for nothing otherwise.
WITH candidate_period AS (
  SELECT {columns} FROM computed_{table}
  UNION ALL
  SELECT
    {own_o},
    greatest(o.valid_from, u.from_ts) AS valid_from,
    least(coalesce(o.valid_to, :forever), u.to_ts) AS valid_to,
    {began_o},
    {ends_o}
  FROM overlapping_{table} o
  JOIN {kept_range} u
    ON {scope_u} (o.valid_from < u.to_ts OR (o.valid_from = u.to_ts AND {began_before}))
    AND coalesce(o.valid_to, :forever) > u.from_ts
),
judged_period AS (
  SELECT
    p.*,
    valid_from < valid_to OR (
      lead(valid_from) OVER w = valid_from
        {next_values}
    ) AS is_kept
  FROM candidate_period p
  WINDOW w AS (PARTITION BY {key} ORDER BY valid_from, valid_to)
),
marked AS (
  SELECT
    p.*,
    CASE
      WHEN lag(valid_to) OVER w = valid_from
        {same_values} THEN 0
      ELSE 1
    END AS is_first
  FROM judged_period p
  WHERE is_kept
  WINDOW w AS (PARTITION BY {key} ORDER BY valid_from, valid_to)
),
framed AS (
  SELECT m.*, coalesce(lead(is_first) OVER w, 1) AS is_last
  FROM marked m
  WINDOW w AS (PARTITION BY {key} ORDER BY valid_from, valid_to)
),
ended AS (
  SELECT
    {own}, valid_from, {began}, is_first,
    {last_ends}
  FROM framed
  WHERE is_first = 1 OR is_last = 1
  WINDOW w AS (PARTITION BY {key} ORDER BY valid_from, valid_to)
)
{as_table}
WHERE is_first = 1 AND valid_to - valid_from >= :shortest_ms

-- Rows of {table} as they are now: the computed ones, and the parts of the old ones in the kept ranges. Equal
-- neighbours are joined to one row, so that the result does not depend on the bounds of the ranges. An old
-- row that began exactly at the start of a recompute range is a period without length. It gives the start of
-- the equal period after it if its record lies before the range; otherwise it does not count.
-- columns: {table_columns}
-- reads: computed_{table}, overlapping_{table}, {kept_range}
-- kept: several views read it
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
measured_period AS (
  SELECT
    p.*,
    valid_from < valid_to OR (
      lead(valid_from) OVER w = valid_from
        {next_values}
    ) AS counts
  FROM candidate_period p
  WINDOW w AS (PARTITION BY {key} ORDER BY valid_from, valid_to)
),
counted_period AS (
  SELECT * FROM measured_period WHERE counts
),
-- include: joined_islands
--   rows: counted_period
--   key: {key}
--   order: valid_from, valid_to
--   continues: lag(valid_to) OVER w = valid_from
--     {same_values}
--   first: {own}, valid_from, {began}
--   last: {last_ends}
-- include: as_table
--   rows: joined_island
WHERE is_first = 1 AND {certain_to} - valid_from >= :shortest_ms

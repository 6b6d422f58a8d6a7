-- What is left of the rows of {table} outside the ranges of the work.
SELECT
  {own_o},
  greatest(o.valid_from, u.from_ts) AS valid_from,
  least(coalesce(o.valid_to, :forever), u.to_ts) AS valid_to,
  {began_o},
  {ends_o}
FROM touched_{table} o
JOIN {outside} u
  ON {scope_u} o.valid_from <= u.to_ts AND coalesce(o.valid_to, :forever) > u.from_ts

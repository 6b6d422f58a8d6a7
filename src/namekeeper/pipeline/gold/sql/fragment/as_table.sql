-- Query: periods of a history, in `$rows`, as its table has them.
SELECT
  {own}, valid_from,
  CASE WHEN valid_to < :forever THEN valid_to END AS valid_to,
  {began},
  {ends},
  CASE WHEN valid_to < :forever THEN day_of(valid_to, :zone) ELSE 'open' END AS valid_to_day
FROM $rows

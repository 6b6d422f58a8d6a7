-- Rows of {table} of before that the work concerns.
SELECT o.*
FROM old_{table} o
WHERE EXISTS (
{overlap}
)

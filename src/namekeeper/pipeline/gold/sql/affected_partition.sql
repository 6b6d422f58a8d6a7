-- Partitions of {table} that are written again.
SELECT valid_to_day AS day FROM overlapping_{table}
UNION
SELECT valid_to_day FROM merged_{table}

-- Partitions of {table} that are written again.
-- columns: day
-- reads: overlapping_{table}, merged_{table}
-- collected: the writer takes them as values
SELECT valid_to_day AS day FROM overlapping_{table}
UNION
SELECT valid_to_day FROM merged_{table}

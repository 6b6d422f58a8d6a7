-- The first and the last effective time of each range. A range has none if only rows of a checkpoint have come so far:
-- their time is that of the checkpoint's first record.
-- columns: range_id, first_ts, last_ts
-- reads: record_block
-- collected: they give the days to recompute
SELECT range_id, min(first_eff_ts) AS first_ts, max(last_eff_ts) AS last_ts
FROM record_block
WHERE first_position IS NOT NULL
GROUP BY range_id

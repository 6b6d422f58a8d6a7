-- Records inside the ranges, counted by blocks of seq: whether a record is missing between the first and the
-- last one, and the effective times of both. Later only blocks with changes are read record by record.
-- columns: namesrv, range_id, boot, block, is_range_end, records, first_seq, last_seq, stop_seq, changes,
--   clock_steps, first_position, last_position, least_ts, greatest_ts, last_ts, later_ts, first_eff_ts, last_eff_ts,
--   has_hole
-- reads: record_in_range
-- kept: several views read it, and it has few rows
WITH block_count AS (
  SELECT
    namesrv, range_id, boot, seq - seq % :block_records AS block, is_range_end,
    count(*) AS records, min(seq) AS first_seq, max(seq) AS last_seq,
    max(CASE WHEN kind = 'server_stopped' THEN seq END) AS stop_seq,
    count(CASE WHEN NOT is_activity THEN 1 END) AS changes,
    count(CASE WHEN kind = 'clock_changed' THEN 1 END) AS clock_steps,
    min(CASE WHEN checkpoint IS NULL THEN seq END) AS first_position,
    max(CASE WHEN checkpoint IS NULL THEN seq END) AS last_position,
    min(CASE WHEN checkpoint IS NULL THEN ts END) AS least_ts,
    max(CASE WHEN checkpoint IS NULL THEN ts END) AS greatest_ts,
    max_by(ts, CASE WHEN checkpoint IS NULL THEN seq END) AS last_ts
  FROM record_in_range
  GROUP BY namesrv, range_id, boot, seq - seq % :block_records, is_range_end
),
block_with_later AS (
  SELECT
    c.*,
    coalesce(
      min(least_ts) OVER (
        PARTITION BY namesrv, range_id ORDER BY boot DESC, first_seq DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ),
      :forever
    ) AS later_ts
  FROM block_count c
)
SELECT
  f.*,
  CASE WHEN first_position IS NOT NULL THEN least(least_ts, later_ts) END AS first_eff_ts,
  CASE WHEN last_position IS NOT NULL THEN least(last_ts, later_ts) END AS last_eff_ts,
  records < last_seq - first_seq + 1 AS has_hole
FROM block_with_later f

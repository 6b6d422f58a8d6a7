-- Records of the work, some thousand of them together: whether one is missing between the first and the last, and
-- the effective times of both. What happened in a block is looked at record by record only if it has changes.
WITH counted AS (
  SELECT
    namesrv, range_id, boot, seq - seq % :block_records AS block, is_wall,
    count(*) AS records, min(seq) AS first_seq, max(seq) AS last_seq,
    max(CASE WHEN kind = 'server_stopped' THEN seq END) AS stop_seq,
    count(CASE WHEN NOT is_activity THEN 1 END) AS changes,
    count(CASE WHEN kind = 'clock_changed' THEN 1 END) AS clock_steps,
    min(CASE WHEN checkpoint IS NULL THEN seq END) AS first_place,
    max(CASE WHEN checkpoint IS NULL THEN seq END) AS last_place,
    min(CASE WHEN checkpoint IS NULL THEN ts END) AS least_ts,
    max(CASE WHEN checkpoint IS NULL THEN ts END) AS greatest_ts,
    max_by(ts, CASE WHEN checkpoint IS NULL THEN seq END) AS last_ts
  FROM inside
  GROUP BY namesrv, range_id, boot, seq - seq % :block_records, is_wall
),
followed AS (
  SELECT
    c.*,
    coalesce(
      min(least_ts) OVER (
        PARTITION BY namesrv, range_id ORDER BY boot DESC, first_seq DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ),
      :forever
    ) AS later_ts
  FROM counted c
)
SELECT
  f.*,
  CASE WHEN first_place IS NOT NULL THEN least(least_ts, later_ts) END AS first_eff_ts,
  CASE WHEN last_place IS NOT NULL THEN least(last_ts, later_ts) END AS last_eff_ts,
  records < last_seq - first_seq + 1 AS has_hole
FROM followed f

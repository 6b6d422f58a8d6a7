-- Every place of the order with its effective time: the smallest ts from there on. Rows of a checkpoint stand at
-- its begin and have its time; a loss has that of the last change before it.
WITH placed AS (
  SELECT namesrv, range_id, boot, seq AS place, kind, is_wall, ts FROM inside WHERE checkpoint IS NULL
  UNION ALL
  SELECT namesrv, range_id, boot, first_seq, 'loss', false, CAST(NULL AS BIGINT) FROM loss
),
timed AS (
  SELECT
    p.*,
    min(ts) OVER (
      PARTITION BY namesrv, range_id ORDER BY boot, place ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
    ) AS eff_ts
  FROM placed p
)
SELECT
  namesrv, range_id, boot, place, kind, is_wall, ts,
  CASE
    WHEN kind = 'loss' THEN max(CASE WHEN kind <> 'loss' THEN eff_ts END) OVER (
      PARTITION BY namesrv, range_id ORDER BY boot, place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
    ELSE eff_ts
  END AS eff_ts
FROM timed

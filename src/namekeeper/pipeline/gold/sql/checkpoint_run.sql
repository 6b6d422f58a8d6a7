-- Complete checkpoints in a row that say the same of a handful of topics of a broker name, with nothing told of them
-- between: all but the first only confirm it. What is confirmed, most of all rows, need not be put in order; and a
-- topic that changes has few others looked at with it. A checkpoint at whose time something else happened, or that is
-- known for no time, is left for itself, because evidence would differ. Of a run there are the first, and those behind
-- which something is told; the others have no row.
WITH first_change AS (
  SELECT f.namesrv, f.boot, f.broker_name, f.bucket, k.span, min(k.eff_ts) AS first_recorded_ts
  FROM topic_change f
  JOIN known_position k ON k.namesrv = f.namesrv AND k.boot = f.boot AND k.position = f.place
  GROUP BY f.namesrv, f.boot, f.broker_name, f.bucket, k.span
),
compared_checkpoint AS (
  SELECT
    p.namesrv, p.boot, p.broker_name, p.bucket, k.span, k.span_to_ts, k.span_ended_by, k.to_boot, k.to_position,
    t.first_recorded_ts,
    CASE
      WHEN lag(k.to_boot) OVER w = k.boot AND lag(k.to_position) OVER w = k.span
        AND lag(p.topics) OVER w = p.topics AND lag(p.fingerprint) OVER w = p.fingerprint
        AND lag(t.first_recorded_ts) OVER w IS NULL
        AND lag(k.eff_ts) OVER w < k.eff_ts AND k.eff_ts < k.span_to_ts
        AND (t.first_recorded_ts IS NULL OR t.first_recorded_ts > k.eff_ts) THEN 0
      ELSE 1
    END AS is_first
  FROM topic_fingerprint p
  JOIN known_position k
    ON k.namesrv = p.namesrv AND k.boot = p.boot AND k.span = p.checkpoint AND k.position = p.checkpoint
  LEFT JOIN first_change t
    ON t.namesrv = p.namesrv AND t.boot = p.boot AND t.broker_name = p.broker_name AND t.bucket = p.bucket
    AND t.span = k.span
  WINDOW w AS (PARTITION BY p.namesrv, p.boot, p.broker_name, p.bucket ORDER BY k.span)
),
numbered_checkpoint AS (
  SELECT
    c.*,
    sum(is_first) OVER (
      PARTITION BY namesrv, boot, broker_name, bucket ORDER BY span
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS run
  FROM compared_checkpoint c
),
run_checkpoint AS (
  SELECT
    namesrv, boot, broker_name, bucket, span AS checkpoint, is_first, first_recorded_ts,
    first_value(span) OVER r AS span,
    last_value(span_to_ts) OVER r AS span_to_ts,
    last_value(span_ended_by) OVER r AS span_ended_by,
    last_value(to_boot) OVER r AS to_boot,
    last_value(to_position) OVER r AS to_position
  FROM numbered_checkpoint
  WINDOW r AS (
    PARTITION BY namesrv, boot, broker_name, bucket, run ORDER BY span
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
  )
)
SELECT namesrv, boot, broker_name, bucket, checkpoint, span, span_to_ts, span_ended_by, to_boot, to_position
FROM run_checkpoint
WHERE is_first = 1 OR first_recorded_ts IS NOT NULL

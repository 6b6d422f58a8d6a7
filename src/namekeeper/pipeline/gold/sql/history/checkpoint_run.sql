-- Runs of complete checkpoints with equal rows of a bucket of topics and no change in between: all but the
-- first one only confirm the rows. Rows that are only confirmed, as most rows are, need not be sorted, and a
-- topic that changes affects only the topics of its bucket. A checkpoint is a run of its own if something
-- else happened at the same time, or if the state is known for no time after it, because the evidence would
-- differ. A run has a row for its first checkpoint, and for each checkpoint with a change after it.
-- columns: namesrv, boot, broker_name, bucket, checkpoint, span, span_to_ts, span_ended_by, to_boot, to_position
-- reads: known_position, topic_change, topic_fingerprint
-- kept: several views read it, and it has few rows
WITH first_change AS (
  SELECT f.namesrv, f.boot, f.broker_name, f.bucket, k.span, min(k.eff_ts) AS first_recorded_ts
  FROM topic_change f
  JOIN known_position k ON k.namesrv = f.namesrv AND k.boot = f.boot AND k.position = f.place
  GROUP BY f.namesrv, f.boot, f.broker_name, f.bucket, k.span
),
checkpoint_content AS (
  SELECT
    p.namesrv, p.boot, p.broker_name, p.bucket, p.topics, p.fingerprint,
    k.eff_ts, k.span, k.span_to_ts, k.span_ended_by, k.to_boot, k.to_position,
    t.first_recorded_ts
  FROM topic_fingerprint p
  JOIN known_position k
    ON k.namesrv = p.namesrv AND k.boot = p.boot AND k.span = p.checkpoint AND k.position = p.checkpoint
  LEFT JOIN first_change t
    ON t.namesrv = p.namesrv AND t.boot = p.boot AND t.broker_name = p.broker_name AND t.bucket = p.bucket
    AND t.span = k.span
),
-- include: islands,
--   named: island
--   rows: checkpoint_content
--   key: namesrv, boot, broker_name, bucket
--   order: span
--   continues: lag(to_boot) OVER w = boot AND lag(to_position) OVER w = span
--     AND lag(topics) OVER w = topics AND lag(fingerprint) OVER w = fingerprint
--     AND lag(first_recorded_ts) OVER w IS NULL
--     AND lag(eff_ts) OVER w < eff_ts AND eff_ts < span_to_ts
--     AND (first_recorded_ts IS NULL OR first_recorded_ts > eff_ts)
run_checkpoint AS (
  SELECT
    namesrv, boot, broker_name, bucket, span AS checkpoint, is_first, first_recorded_ts,
    first_value(span) OVER r AS span,
    last_value(span_to_ts) OVER r AS span_to_ts,
    last_value(span_ended_by) OVER r AS span_ended_by,
    last_value(to_boot) OVER r AS to_boot,
    last_value(to_position) OVER r AS to_position
  FROM island
  WINDOW r AS (
    PARTITION BY namesrv, boot, broker_name, bucket, island ORDER BY span
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
  )
)
SELECT namesrv, boot, broker_name, bucket, checkpoint, span, span_to_ts, span_ended_by, to_boot, to_position
FROM run_checkpoint
WHERE is_first = 1 OR first_recorded_ts IS NOT NULL

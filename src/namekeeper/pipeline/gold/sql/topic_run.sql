-- Complete checkpoints in a row that say the same of a handful of topics of a broker name, with nothing told of them
-- between: all but the first only confirm it. What is confirmed, most of all rows, need not be put in order; and a
-- topic that changes has few others looked at with it. A checkpoint at whose time something else happened, or that is
-- known for no time, is left for itself, because evidence would differ. Of a run there are the first, and those behind
-- which something is told; the others have no row.
WITH told AS (
  SELECT f.namesrv, f.boot, f.broker_name, f.handful, k.span, min(k.eff_ts) AS first_told_ts
  FROM topic_changed f
  JOIN known_place k ON k.namesrv = f.namesrv AND k.boot = f.boot AND k.place = f.place
  GROUP BY f.namesrv, f.boot, f.broker_name, f.handful, k.span
),
compared AS (
  SELECT
    p.namesrv, p.boot, p.broker_name, p.handful, k.span, k.span_to_ts, k.span_ended_by, k.to_boot, k.to_place,
    t.first_told_ts,
    CASE
      WHEN lag(k.to_boot) OVER w = k.boot AND lag(k.to_place) OVER w = k.span
        AND lag(p.topics) OVER w = p.topics AND lag(p.print) OVER w = p.print
        AND lag(t.first_told_ts) OVER w IS NULL
        AND lag(k.eff_ts) OVER w < k.eff_ts AND k.eff_ts < k.span_to_ts
        AND (t.first_told_ts IS NULL OR t.first_told_ts > k.eff_ts) THEN 0
      ELSE 1
    END AS is_first
  FROM topic_print p
  JOIN known_place k
    ON k.namesrv = p.namesrv AND k.boot = p.boot AND k.span = p.checkpoint AND k.place = p.checkpoint
  LEFT JOIN told t
    ON t.namesrv = p.namesrv AND t.boot = p.boot AND t.broker_name = p.broker_name AND t.handful = p.handful
    AND t.span = k.span
  WINDOW w AS (PARTITION BY p.namesrv, p.boot, p.broker_name, p.handful ORDER BY k.span)
),
numbered AS (
  SELECT
    c.*,
    sum(is_first) OVER (
      PARTITION BY namesrv, boot, broker_name, handful ORDER BY span
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS run
  FROM compared c
),
joined AS (
  SELECT
    namesrv, boot, broker_name, handful, span AS checkpoint, is_first, first_told_ts,
    first_value(span) OVER r AS span,
    last_value(span_to_ts) OVER r AS span_to_ts,
    last_value(span_ended_by) OVER r AS span_ended_by,
    last_value(to_boot) OVER r AS to_boot,
    last_value(to_place) OVER r AS to_place
  FROM numbered
  WINDOW r AS (
    PARTITION BY namesrv, boot, broker_name, handful, run ORDER BY span
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
  )
)
SELECT namesrv, boot, broker_name, handful, checkpoint, span, span_to_ts, span_ended_by, to_boot, to_place
FROM joined
WHERE is_first = 1 OR first_told_ts IS NOT NULL

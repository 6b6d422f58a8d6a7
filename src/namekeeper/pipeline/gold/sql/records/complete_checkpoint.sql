-- Checkpoints that count: the last record is there, each kind has as many records as it declares, no seq is missing in
-- between, and no other checkpoint begins in between.
-- columns: namesrv, range_id, boot, begin_seq, end_seq
-- reads: checkpoint, checkpoint_count, loss, recompute_range, record_in_range
-- kept: few rows, and boundary is planned quickly then
WITH checkpoint_record AS (
  SELECT c.namesrv, w.range_id, c.boot, c.seq, c.checkpoint, c.kind
  FROM checkpoint c
  JOIN recompute_range w
    ON
      -- include: in_recompute_range
      --   row: c
      --   position: seq
),
checkpoint_start AS (
  SELECT
    namesrv, range_id, boot, seq,
    lead(seq) OVER (PARTITION BY namesrv, range_id, boot ORDER BY seq) AS next_begin
  FROM checkpoint_record
  WHERE kind = 'checkpoint_begin'
),
checkpoint_stop AS (
  SELECT namesrv, range_id, boot, checkpoint, max(seq) AS end_seq
  FROM checkpoint_record
  WHERE kind = 'checkpoint_end'
  GROUP BY namesrv, range_id, boot, checkpoint
),
found_count AS (
  SELECT namesrv, range_id, boot, checkpoint, kind, count(*) AS records
  FROM record_in_range
  WHERE checkpoint IS NOT NULL AND kind <> 'checkpoint_end'
  GROUP BY namesrv, range_id, boot, checkpoint, kind
),
declared_count AS (
  SELECT e.namesrv, e.range_id, e.boot, e.checkpoint, p.kind, p.records
  FROM checkpoint_stop e
  JOIN checkpoint_count p ON p.namesrv = e.namesrv AND p.boot = e.boot AND p.checkpoint = e.checkpoint
),
count_mismatch AS (
  SELECT
    coalesce(p.namesrv, c.namesrv) AS namesrv,
    coalesce(p.boot, c.boot) AS boot,
    coalesce(p.checkpoint, c.checkpoint) AS checkpoint
  FROM declared_count p
  FULL JOIN found_count c
    ON c.namesrv = p.namesrv AND c.range_id = p.range_id AND c.boot = p.boot
    AND c.checkpoint = p.checkpoint AND c.kind = p.kind
  WHERE coalesce(p.records, 0) <> coalesce(c.records, 0)
)
SELECT b.namesrv, b.range_id, b.boot, b.seq AS begin_seq, e.end_seq
FROM checkpoint_start b
JOIN checkpoint_stop e
  ON e.namesrv = b.namesrv AND e.range_id = b.range_id AND e.boot = b.boot AND e.checkpoint = b.seq
WHERE (b.next_begin IS NULL OR b.next_begin > e.end_seq)
  AND NOT EXISTS (
    SELECT 1 FROM loss l
    WHERE l.namesrv = b.namesrv AND l.range_id = b.range_id AND l.boot = b.boot
      AND l.first_seq > b.seq AND l.first_seq < e.end_seq
  )
  AND NOT EXISTS (
    SELECT 1 FROM count_mismatch u
    WHERE u.namesrv = b.namesrv AND u.boot = b.boot AND u.checkpoint = b.seq
  )

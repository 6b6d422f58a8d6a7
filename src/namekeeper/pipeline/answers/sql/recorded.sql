-- Rows of $table as recorded: changes, and what complete checkpoints say.
-- columns: {envelope}, {fields of $table}
-- reads: $table, known_span
SELECT
  {envelope as f},
  {fields of $table as f}
FROM $table f
LEFT JOIN known_span k ON k.namesrv = f.namesrv AND k.boot = f.boot AND k.begin_seq = f.checkpoint
WHERE
  ((f.checkpoint IS NULL AND f.ts >= :since AND f.ts <= :until) OR (k.from_ts >= :since AND k.from_ts <= :until))
  AND (:namesrv IS NULL OR f.namesrv = :namesrv)
  AND ($about)
ORDER BY $order

-- A property of the running configuration as recorded: changes, and what complete checkpoints say.
-- columns: namesrv, boot, place, seq, checkpoint, change, ts, cause, peer, property, value
-- reads: config, known_span
SELECT
  f.namesrv, f.boot, f.place, f.seq, f.checkpoint, f.change, f.ts, f.cause, f.peer,
  f.property, f.`value`
FROM config f
LEFT JOIN known_span k ON k.namesrv = f.namesrv AND k.boot = f.boot AND k.begin_seq = f.checkpoint
WHERE
  ((f.checkpoint IS NULL AND f.ts >= :since AND f.ts <= :until) OR (k.from_ts >= :since AND k.from_ts <= :until))
  AND (:namesrv IS NULL OR f.namesrv = :namesrv)
ORDER BY f.namesrv, f.boot, f.place, f.seq, f.property

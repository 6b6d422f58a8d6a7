-- The filter servers of a broker as recorded: changes, and what complete checkpoints say.
-- columns: namesrv, boot, place, seq, checkpoint, change, ts, cause, peer, cluster,
--   broker_addr, filter_servers, gone
-- reads: filter_servers, known_span
SELECT
  f.namesrv, f.boot, f.place, f.seq, f.checkpoint, f.change, f.ts, f.cause, f.peer,
  f.cluster,
  f.broker_addr, f.filter_servers, f.gone
FROM filter_servers f
LEFT JOIN known_span k ON k.namesrv = f.namesrv AND k.boot = f.boot AND k.begin_seq = f.checkpoint
WHERE
  ((f.checkpoint IS NULL AND f.ts >= :since AND f.ts <= :until) OR (k.from_ts >= :since AND k.from_ts <= :until))
  AND (:namesrv IS NULL OR f.namesrv = :namesrv)
ORDER BY f.namesrv, f.boot, f.place, f.seq

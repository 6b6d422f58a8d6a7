-- A live registration as recorded: changes, and what complete checkpoints say.
-- columns: namesrv, boot, place, seq, checkpoint, change, ts, cause, peer, cluster,
--   broker_addr, broker_name, broker_id, gen, ha_server_addr, timeout_ms, data_version, gone, reason, idle_ms, closed_by
-- reads: broker_live, known_span
SELECT
  f.namesrv, f.boot, f.place, f.seq, f.checkpoint, f.change, f.ts, f.cause, f.peer,
  f.cluster,
  f.broker_addr, f.broker_name, f.broker_id, f.gen, f.ha_server_addr, f.timeout_ms, f.data_version, f.gone, f.reason,
  f.idle_ms, f.closed_by
FROM broker_live f
LEFT JOIN known_span k ON k.namesrv = f.namesrv AND k.boot = f.boot AND k.begin_seq = f.checkpoint
WHERE
  ((f.checkpoint IS NULL AND f.ts >= :since AND f.ts <= :until) OR (k.from_ts >= :since AND k.from_ts <= :until))
  AND (:namesrv IS NULL OR f.namesrv = :namesrv)
ORDER BY f.namesrv, f.boot, f.place, f.seq

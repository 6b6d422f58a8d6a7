-- A live registration that overlaps a period of time.
-- columns: namesrv, cluster, broker_addr, broker_name, broker_id, boot, gen, valid_from, valid_to, from_cause,
--   from_peer, ended_by, to_cause, to_peer, reason, idle_ms
-- reads: broker_session
SELECT
  namesrv, cluster, broker_addr, broker_name, broker_id, boot, gen, valid_from, valid_to, from_cause,
  from_peer, ended_by, to_cause, to_peer, reason, idle_ms
FROM broker_session
WHERE
  (valid_to IS NULL OR valid_to >= :since) AND valid_from <= :until
  AND (:namesrv IS NULL OR namesrv = :namesrv)
ORDER BY namesrv, cluster, broker_addr, valid_from

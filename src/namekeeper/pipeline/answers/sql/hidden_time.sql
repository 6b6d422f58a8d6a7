-- A record of a boot in which the clock was set back: no record before it has a later effective time.
-- columns: namesrv, boot, place, seq, ts
-- reads: events, name_server_session
SELECT e.namesrv, e.boot, e.place, e.seq, e.ts
FROM events e
INNER JOIN name_server_session s ON s.namesrv = e.namesrv AND s.boot = e.boot
WHERE
  s.hidden_ms > 0 AND e.checkpoint IS NULL AND e.ts >= :since AND e.ts <= :until
  AND (:namesrv IS NULL OR e.namesrv = :namesrv)
ORDER BY e.namesrv, e.boot, e.place, e.seq

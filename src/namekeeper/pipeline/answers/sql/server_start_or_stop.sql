-- The start or the orderly stop of a name server.
-- columns: namesrv, boot, seq, ts, kind, observed_addr, restart
-- reads: server
SELECT namesrv, boot, seq, ts, kind, observed_addr, restart
FROM server
WHERE kind IN ('server_started', 'server_stopped') AND (:namesrv IS NULL OR namesrv = :namesrv)
ORDER BY namesrv, boot, seq

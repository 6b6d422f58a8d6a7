-- A boot of a name server.
-- columns: namesrv, boot, first_ts, knows_up_to, ended_by, losses, unknown_ms, hidden_ms, cluster_label
-- reads: name_server_session
SELECT namesrv, boot, first_ts, knows_up_to, ended_by, losses, unknown_ms, hidden_ms, cluster_label
FROM name_server_session
WHERE :namesrv IS NULL OR namesrv = :namesrv
ORDER BY namesrv, boot

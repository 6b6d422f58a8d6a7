-- A period of a name server, for the question why a topic had no route.
-- columns: namesrv, valid_from, valid_to, state, boot, is_observed, restart
-- reads: name_server_timeline, server
SELECT
  t.namesrv, t.valid_from, t.valid_to, t.state, t.boot, s.observed_addr IS NOT NULL AS is_observed, s.restart
FROM name_server_timeline t
LEFT JOIN server s ON s.namesrv = t.namesrv AND s.boot = t.boot AND s.kind = 'server_started'
WHERE :namesrv IS NULL OR t.namesrv = :namesrv
ORDER BY t.namesrv, t.valid_from

-- A period of a name server, for the question why a topic had no route.
-- columns: namesrv, valid_from, valid_to, state, boot
-- reads: name_server_timeline
SELECT namesrv, valid_from, valid_to, state, boot
FROM name_server_timeline
WHERE :namesrv IS NULL OR namesrv = :namesrv
ORDER BY namesrv, valid_from

-- The time of the last record of each name server.
-- columns: namesrv, up_to
-- reads: computed_name_server_session
-- not kept: it is cheap to compute from few rows
SELECT namesrv, max_by(knows_up_to, boot) AS up_to
FROM computed_name_server_session
GROUP BY namesrv

-- The time of the last record of any name server.
-- columns: up_to
-- reads: computed_name_server_session
-- not kept: it is one row, and cheap to compute
SELECT max(up_to) AS up_to
FROM (
  SELECT namesrv, max_by(knows_up_to, boot) AS up_to FROM computed_name_server_session GROUP BY namesrv
) AS last_record

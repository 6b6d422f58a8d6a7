-- The last instant of which any name server tells.
SELECT max(up_to) AS up_to
FROM (
  SELECT namesrv, max_by(knows_up_to, boot) AS up_to FROM computed_name_server_session GROUP BY namesrv
) AS last_record

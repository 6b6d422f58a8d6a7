-- Name servers with records.
-- columns: namesrv
-- reads: computed_name_server_session
-- collected: a single name server is not compared
SELECT DISTINCT namesrv
FROM computed_name_server_session

-- Name servers of which there is a record.
-- columns: namesrv
-- reads: computed_name_server_session
-- collected: a name server that is alone is not compared
SELECT DISTINCT namesrv
FROM computed_name_server_session

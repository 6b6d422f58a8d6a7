-- The time of the last record of any name server.
-- columns: up_to
-- reads: last_record_time
-- not kept: it is one row, and cheap to compute
SELECT max(up_to) AS up_to
FROM last_record_time

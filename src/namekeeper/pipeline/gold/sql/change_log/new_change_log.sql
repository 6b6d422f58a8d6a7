-- All rows of the days that are written again.
-- columns: day, at_ts, ts, namesrv, boot, seq, cause, peer, kind, action, cluster, broker_name, broker_addr, topic,
--   items, detail, window_ms
-- reads: affected_partition_change_log, computed_change_log, kept_change_log
-- writes: change_log
SELECT * FROM computed_change_log
UNION ALL
SELECT * FROM kept_change_log WHERE day IN (SELECT day FROM affected_partition_change_log)

-- The label of the cluster that each name server belonged to on each day with records of it.
-- columns: day, namesrv, cluster_label
-- reads: last_record_time, recorded_label, report_day
-- writes: name_server_label_daily
SELECT d.day, k.namesrv, nullif(k.cluster_label, '') AS cluster_label
FROM recorded_label k
JOIN last_record_time l ON l.namesrv = k.namesrv
JOIN report_day d ON d.from_ts <= l.up_to

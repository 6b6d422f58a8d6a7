-- A name server that belongs to a label, and the label.
-- columns: namesrv, cluster_label
-- reads: name_server_label_daily
SELECT DISTINCT namesrv, cluster_label
FROM name_server_label_daily
WHERE cluster_label IS NOT NULL
ORDER BY namesrv, cluster_label

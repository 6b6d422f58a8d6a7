-- Each name server with the label of its cluster on these days, and the time of the last record of any name server of
-- this label. Name servers without a label have an empty one.
-- columns: namesrv, cluster_label, up_to
-- reads: last_record_time, namesrv_label
-- not kept: it has a row for each name server, and is cheap to compute
SELECT l.namesrv, k.cluster_label, max(l.up_to) OVER (PARTITION BY k.cluster_label) AS up_to
FROM last_record_time l
JOIN namesrv_label k ON k.namesrv = l.namesrv

-- The cluster of each broker name, for each label.
-- columns: cluster_label, broker_name, cluster
-- reads: broker_group_history, namesrv_label
-- kept: several views read it; without that, queries over it and over views made of it are too complex for
--   Spark
SELECT k.cluster_label, g.broker_name, min(g.cluster) AS cluster
FROM broker_group_history g
JOIN namesrv_label k ON k.namesrv = g.namesrv
WHERE coalesce(g.valid_to, :forever) > :look_from AND g.valid_from < :look_to
GROUP BY k.cluster_label, g.broker_name

-- The cluster of each broker name.
-- columns: broker_name, cluster
-- reads: broker_group_history
-- kept: several views read it; a query over it and over others made of it is too entangled for Spark
SELECT broker_name, min(cluster) AS cluster
FROM broker_group_history
WHERE coalesce(valid_to, :forever) > :look_from AND valid_from < :look_to
GROUP BY broker_name

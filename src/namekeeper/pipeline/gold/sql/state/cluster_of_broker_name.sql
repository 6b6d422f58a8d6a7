-- The cluster of each broker name.
-- columns: broker_name, cluster
-- reads: broker_group_history
-- kept: several views read it; without that, queries over it and over views made of it are too complex for
--   Spark
SELECT broker_name, min(cluster) AS cluster
FROM broker_group_history
WHERE coalesce(valid_to, :forever) > :look_from AND valid_from < :look_to
GROUP BY broker_name

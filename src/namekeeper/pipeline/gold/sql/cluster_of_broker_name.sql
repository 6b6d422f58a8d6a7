-- The cluster of each broker name.
SELECT broker_name, min(cluster) AS cluster
FROM broker_group_history
WHERE coalesce(valid_to, :forever) > :look_from AND valid_from < :look_to
GROUP BY broker_name

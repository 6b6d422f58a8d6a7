-- The rows of a WITH, named `cluster_of`: the last known cluster of each broker name.
cluster_of AS (
  SELECT broker_name, max_by(cluster, (valid_from, cluster)) AS cluster
  FROM broker_group_history
  WHERE cluster IS NOT NULL
  GROUP BY broker_name
)

-- The rows of a WITH, named `cluster_of`: the last known cluster of each broker name, for each label that its name
-- servers had meanwhile.
cluster_of AS (
  SELECT
    k.cluster_label, g.broker_name,
    max_by(g.cluster, (g.valid_from, g.cluster)) AS cluster
  FROM broker_group_history g
  JOIN labelled_period k
    ON k.namesrv = g.namesrv AND k.from_ts < coalesce(g.valid_to, :forever) AND k.to_ts > g.valid_from
  WHERE g.cluster IS NOT NULL
  GROUP BY k.cluster_label, g.broker_name
)

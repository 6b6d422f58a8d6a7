-- A cluster and its broker names at an instant.
-- columns: namesrv, cluster, broker_names
-- reads: cluster_history
SELECT namesrv, cluster, broker_names
FROM cluster_history
WHERE
  (:namesrv IS NULL OR namesrv = :namesrv) AND valid_from <= :at AND (valid_to IS NULL OR valid_to > :at)
ORDER BY namesrv, cluster

-- A cluster and its broker names at an instant.
-- columns: namesrv, {row of cluster_row}
-- reads: cluster_history
SELECT namesrv, {row of cluster_row}
FROM cluster_history
WHERE
  (:namesrv IS NULL OR namesrv = :namesrv) AND valid_from <= :at AND (valid_to IS NULL OR valid_to > :at)
ORDER BY namesrv, cluster

-- CTE witness: the rows of `$rows` with the cluster of name servers that the witness was in. `$columns` are those of
-- the subject, with the alias `w`.
witness AS (
  SELECT
    w.namesrv, k.namesrv_cluster, k.cluster_label, $columns, w.is_open AND w.valid_to <= k.to_ts AS is_open,
    CASE WHEN w.valid_from < k.from_ts THEN k.from_ts ELSE w.uncorrected_from END AS uncorrected_from,
    CASE WHEN w.valid_to > k.to_ts THEN k.to_ts ELSE w.uncorrected_to END AS uncorrected_to,
    greatest(w.valid_from, k.from_ts) AS valid_from, least(w.valid_to, k.to_ts) AS valid_to
  FROM $rows w
  JOIN namesrv_cluster k ON k.namesrv = w.namesrv AND k.from_ts < w.valid_to AND k.to_ts > w.valid_from
)

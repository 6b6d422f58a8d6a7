-- The rows of a WITH, the last named `witness`: when each name server was a witness for a subject, which `$key`
-- names in `$rows`: from its first registration in this boot, or at the latest from some time after the start.
-- `$subject` is the key with the alias `s`, `$same` the condition that `f` and `s` have the same key.
subject AS (
  SELECT DISTINCT cluster_label, $key FROM $rows
),
first_registration AS (
  SELECT namesrv, boot, $key, min(valid_from) AS first_registration
  FROM $rows
  GROUP BY namesrv, boot, $key
),
witness AS (
  SELECT
    w.namesrv, w.cluster_label, $subject, w.is_open,
    greatest(
      w.valid_from, least(w.witness_at_latest, coalesce(f.first_registration, w.witness_at_latest))
    ) AS valid_from,
    w.valid_to
  FROM cluster_witness w
  JOIN subject s ON s.cluster = w.cluster AND s.cluster_label = w.cluster_label
  LEFT JOIN first_registration f ON f.namesrv = w.namesrv AND f.boot = w.boot AND $same
)

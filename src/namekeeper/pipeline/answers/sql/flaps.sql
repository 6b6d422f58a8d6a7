-- A broker in an hour in which it went down; the hours with most of these events first.
-- columns: day, hour, cluster, broker_name, broker_id, outages, sessions_ended, cluster_label
-- reads: broker_flap
SELECT day, hour, cluster, broker_name, broker_id, outages, sessions_ended, cluster_label
FROM broker_flap
WHERE (:first_day IS NULL OR day >= :first_day) AND (:last_day IS NULL OR day <= :last_day)
  AND (:label IS NULL OR cluster_label = :label)
ORDER BY outages DESC, sessions_ended DESC, hour, cluster, broker_name, broker_id, cluster_label NULLS FIRST

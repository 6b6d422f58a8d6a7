SELECT
  coalesce(cluster_label, '') AS cluster_label, cluster, broker_name, broker_id,
  CAST(min(day) AS DATE) AS first_day, CAST(max(day) AS DATE) AS last_day,
  max_by(state, valid_from) AS last_state, timestamp_millis(max_by(began_at, valid_from)) AS last_state_since
FROM broker_state_daily
GROUP BY coalesce(cluster_label, ''), cluster, broker_name, broker_id

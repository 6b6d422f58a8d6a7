SELECT
  coalesce(cluster_label, '') AS cluster_label, cluster, sort_array(collect_set(broker_name)) AS broker_names,
  CAST(min(day) AS DATE) AS first_day, CAST(max(day) AS DATE) AS last_day
FROM broker_state_daily
GROUP BY coalesce(cluster_label, ''), cluster

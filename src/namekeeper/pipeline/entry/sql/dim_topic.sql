SELECT
  coalesce(cluster_label, '') AS cluster_label, cluster, topic,
  CAST(min(day) AS DATE) AS first_day, CAST(max(day) AS DATE) AS last_day
FROM topic_availability_daily
GROUP BY coalesce(cluster_label, ''), cluster, topic

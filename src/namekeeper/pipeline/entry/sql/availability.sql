SELECT
  CAST(day AS DATE) AS day, coalesce(cluster_label, '') AS cluster_label, cluster, broker_name, broker_id, up_ms,
  down_ms, unknown_ms, outages, longest_outage_ms,
  CASE WHEN up_ms + down_ms > 0 THEN up_ms / (up_ms + down_ms) END AS up_share
FROM broker_availability_daily

-- A broker, and its availability as a share of the time of which something is known.
-- columns: cluster, broker_name, broker_id, up_ms, down_ms, unknown_ms, outages, longest_outage_ms,
--   availability
-- reads: broker_availability_daily
WITH total AS (
  SELECT
    cluster, broker_name, broker_id, sum(up_ms) AS up_ms, sum(down_ms) AS down_ms,
    sum(unknown_ms) AS unknown_ms, sum(outages) AS outages, max(longest_outage_ms) AS longest_outage_ms
  FROM broker_availability_daily
  WHERE (:first_day IS NULL OR day >= :first_day) AND (:last_day IS NULL OR day <= :last_day)
  GROUP BY cluster, broker_name, broker_id
)
SELECT
  cluster, broker_name, broker_id, up_ms, down_ms, unknown_ms, outages, longest_outage_ms,
  CASE WHEN up_ms + down_ms > 0 THEN up_ms / (up_ms + down_ms) END AS availability
FROM total
ORDER BY availability ASC NULLS LAST, cluster, broker_name, broker_id

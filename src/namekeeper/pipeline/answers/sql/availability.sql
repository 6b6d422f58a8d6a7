-- A broker, and its availability as a share of the known time.
-- columns: cluster, broker_name, broker_id, up_ms, down_ms, unknown_ms, outages, longest_outage_ms,
--   unregistered_ms, availability, uncertain_ms, cluster_label
-- reads: broker_availability_daily, broker_state_daily
WITH total AS (
  SELECT
    cluster_label, cluster, broker_name, broker_id, sum(up_ms) AS up_ms, sum(down_ms) AS down_ms,
    sum(unknown_ms) AS unknown_ms, sum(outages) AS outages, max(longest_outage_ms) AS longest_outage_ms,
    coalesce(sum(uncertain_ms), 0) AS uncertain_ms
  FROM broker_availability_daily
  WHERE (:first_day IS NULL OR day >= :first_day) AND (:last_day IS NULL OR day <= :last_day)
    AND (:label IS NULL OR cluster_label = :label)
  GROUP BY cluster_label, cluster, broker_name, broker_id
),
unregistered AS (
  SELECT cluster_label, cluster, broker_name, broker_id, sum(valid_to - valid_from) AS unregistered_ms
  FROM broker_state_daily
  WHERE
    state = 'unregistered' AND (:first_day IS NULL OR day >= :first_day)
    AND (:last_day IS NULL OR day <= :last_day)
    AND (:label IS NULL OR cluster_label = :label)
  GROUP BY cluster_label, cluster, broker_name, broker_id
)
SELECT
  t.cluster, t.broker_name, t.broker_id, t.up_ms, t.down_ms, t.unknown_ms, t.outages, t.longest_outage_ms,
  coalesce(u.unregistered_ms, 0) AS unregistered_ms,
  CASE WHEN up_ms + down_ms > 0 THEN up_ms / (up_ms + down_ms) END AS availability,
  t.uncertain_ms, t.cluster_label
FROM total t
LEFT JOIN unregistered u
  ON u.cluster_label IS NOT DISTINCT FROM t.cluster_label AND u.cluster = t.cluster AND u.broker_name = t.broker_name
  AND u.broker_id = t.broker_id
ORDER BY availability ASC NULLS LAST, t.cluster, t.broker_name, t.broker_id, t.cluster_label NULLS FIRST

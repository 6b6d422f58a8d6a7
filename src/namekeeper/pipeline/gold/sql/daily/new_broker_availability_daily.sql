-- How long each broker was up, down and unknown on each day.
-- columns: day, cluster, broker_name, broker_id, up_ms, down_ms, unknown_ms, outages, longest_outage_ms, witnesses,
--   uncertain_ms, cluster_label
-- reads: broker_state_daily, report_day
-- writes: broker_availability_daily
SELECT
  day, cluster, broker_name, broker_id,
  sum(CASE WHEN state = 'up' THEN valid_to - valid_from ELSE 0 END) AS up_ms,
  sum(CASE WHEN state = 'down' THEN valid_to - valid_from ELSE 0 END) AS down_ms,
  sum(CASE WHEN state = 'unknown' THEN valid_to - valid_from ELSE 0 END) AS unknown_ms,
  sum(CASE WHEN state = 'down' AND began_at = valid_from THEN 1 ELSE 0 END) AS outages,
  max(CASE WHEN state = 'down' THEN valid_to - valid_from ELSE 0 END) AS longest_outage_ms,
  max(witnesses) AS witnesses,
  sum(CASE WHEN state IN ('up', 'down') THEN uncertain_ms END) AS uncertain_ms,
  cluster_label
FROM broker_state_daily
WHERE day IN (SELECT day FROM report_day)
GROUP BY day, cluster_label, cluster, broker_name, broker_id

-- Hours in which a broker went down or a registration of it ended.
-- columns: day, cluster, broker_name, broker_id, hour, outages, sessions_ended, cluster_label
-- reads: broker_session, broker_state, namesrv_label, report_day
-- writes: broker_flap
WITH flap_event AS (
  SELECT cluster_label, cluster, broker_name, broker_id, valid_from AS at_ts, 1 AS outages, 0 AS ends
  FROM broker_state
  WHERE state = 'down' AND valid_from = began_at
  UNION ALL
  SELECT k.cluster_label, s.cluster, s.broker_name, s.broker_id, s.valid_to, 0, 1
  FROM broker_session s
  JOIN namesrv_label k ON k.namesrv = s.namesrv
  WHERE s.ended_by IN ('gone', 'changed') AND s.valid_to > :look_from AND s.valid_to < :look_to
)
SELECT
  d.day, t.cluster, t.broker_name, t.broker_id, t.at_ts - t.at_ts % 3600000 AS hour,
  sum(t.outages) AS outages, sum(t.ends) AS sessions_ended, nullif(t.cluster_label, '') AS cluster_label
FROM flap_event t
JOIN report_day d ON t.at_ts >= d.from_ts AND t.at_ts < d.to_ts
GROUP BY d.day, t.cluster_label, t.cluster, t.broker_name, t.broker_id, t.at_ts - t.at_ts % 3600000

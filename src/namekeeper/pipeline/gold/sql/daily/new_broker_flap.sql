-- Hours in which a broker went down or a registration of it ended.
-- columns: day, cluster, broker_name, broker_id, hour, outages, sessions_ended
-- reads: broker_session, broker_state, report_day
-- writes: broker_flap
WITH flap_event AS (
  SELECT cluster, broker_name, broker_id, valid_from AS at_ts, 1 AS outages, 0 AS ends
  FROM broker_state
  WHERE state = 'down' AND valid_from = began_at
  UNION ALL
  SELECT cluster, broker_name, broker_id, valid_to, 0, 1
  FROM broker_session
  WHERE ended_by IN ('gone', 'changed') AND valid_to > :look_from AND valid_to < :look_to
)
SELECT
  d.day, t.cluster, t.broker_name, t.broker_id, t.at_ts - t.at_ts % 3600000 AS hour,
  sum(t.outages) AS outages, sum(t.ends) AS sessions_ended
FROM flap_event t
JOIN report_day d ON t.at_ts >= d.from_ts AND t.at_ts < d.to_ts
GROUP BY d.day, t.cluster, t.broker_name, t.broker_id, t.at_ts - t.at_ts % 3600000

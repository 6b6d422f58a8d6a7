-- The state of each broker, cut at midnight.
-- columns: day, cluster, broker_name, broker_id, state, valid_from, valid_to, began_at, witnesses
-- reads: broker_state, report_day
-- writes: broker_state_daily
SELECT
  d.day, s.cluster, s.broker_name, s.broker_id, s.state,
  greatest(s.valid_from, d.from_ts) AS valid_from,
  least(s.valid_to, d.to_ts) AS valid_to,
  s.valid_from AS began_at,
  s.witnesses
FROM broker_state s
JOIN report_day d ON s.valid_from < d.to_ts AND s.valid_to > d.from_ts

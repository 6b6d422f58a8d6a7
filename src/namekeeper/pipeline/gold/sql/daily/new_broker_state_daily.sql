-- The state of each broker, cut at midnight. The query looks back no further than the memory, so a state is at most
-- that old when its day begins.
-- columns: day, cluster, broker_name, broker_id, state, valid_from, valid_to, began_at, witnesses,
--   uncertain_ms, cluster_label
-- reads: broker_state, report_day
-- writes: broker_state_daily
SELECT
  d.day, s.cluster, s.broker_name, s.broker_id, s.state,
  greatest(min(s.valid_from), d.from_ts) AS valid_from,
  least(max(s.valid_to), d.to_ts) AS valid_to,
  greatest(s.began_at, d.from_ts - :memory_ms) AS began_at,
  max(s.witnesses) AS witnesses,
  CASE
    WHEN max(s.uncertain_from) < d.to_ts
      THEN least(max(s.valid_to), d.to_ts) - greatest(max(s.uncertain_from), d.from_ts)
  END AS uncertain_ms,
  nullif(s.cluster_label, '') AS cluster_label
FROM broker_state s
JOIN report_day d ON s.valid_from < d.to_ts AND s.valid_to > d.from_ts
GROUP BY
  d.day, d.from_ts, d.to_ts, s.cluster_label, s.cluster, s.broker_name, s.broker_id, s.state, s.began_at

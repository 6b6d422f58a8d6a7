-- What is seen of each boot: in the work now, or before.
SELECT
  namesrv, boot, min(place) AS first_seq, max(place) AS last_seq, min(eff_ts) AS first_ts,
  max_by(ts, place) AS knows_up_to, max(ts - eff_ts) AS hidden_ms
FROM place
WHERE kind <> 'loss' AND NOT is_wall
GROUP BY namesrv, boot
UNION ALL
SELECT namesrv, boot, first_seq, last_seq, first_ts, knows_up_to, hidden_ms FROM old_name_server_session

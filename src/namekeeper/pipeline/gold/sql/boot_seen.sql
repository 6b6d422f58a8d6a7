-- What is seen of each boot: in the work now, or before.
SELECT
  namesrv, boot, min(first_place) AS first_seq, max(last_place) AS last_seq, min(first_eff_ts) AS first_ts,
  max_by(last_ts, last_place) AS knows_up_to, max(greatest(greatest_ts - later_ts, 0)) AS hidden_ms
FROM block
WHERE NOT is_wall
GROUP BY namesrv, boot
UNION ALL
SELECT namesrv, boot, min(place), max(place), min(eff_ts), max_by(ts, place), max(ts - eff_ts)
FROM moment
WHERE NOT is_wall
GROUP BY namesrv, boot
UNION ALL
SELECT namesrv, boot, first_seq, last_seq, first_ts, knows_up_to, hidden_ms FROM old_name_server_session

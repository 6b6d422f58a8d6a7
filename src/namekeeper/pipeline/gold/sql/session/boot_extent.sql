-- The first and last record of each boot: as found in the ranges now, and as found by earlier runs. Rows of a
-- checkpoint have no time of their own, so a boot of which nothing else has come so far is left out.
-- columns: namesrv, boot, first_seq, last_seq, first_ts, knows_up_to, hidden_ms
-- reads: event_time, old_name_server_session, record_block
SELECT
  namesrv, boot, min(first_position) AS first_seq, max(last_position) AS last_seq, min(first_eff_ts) AS first_ts,
  max_by(last_ts, last_position) AS knows_up_to, max(greatest(greatest_ts - later_ts, 0)) AS hidden_ms
FROM record_block
WHERE NOT is_range_end AND first_position IS NOT NULL
GROUP BY namesrv, boot
UNION ALL
SELECT namesrv, boot, min(position), max(position), min(eff_ts), max_by(ts, position), max(ts - eff_ts)
FROM event_time
WHERE NOT is_range_end
GROUP BY namesrv, boot
UNION ALL
SELECT namesrv, boot, first_seq, last_seq, first_ts, knows_up_to, hidden_ms FROM old_name_server_session

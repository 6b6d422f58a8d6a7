-- Boots of name servers, with the last measured offset of the clock.
-- columns: namesrv, boot, uuid, server_version, port, previous_boot, first_seq, last_seq, first_ts, ended_by,
--   knows_up_to, losses, lost_records, unknown_ms, dropped_changes, dropped_records, clock_steps, clock_back_ms,
--   hidden_ms, cluster_label, clock_offset_ms
-- reads: computed_name_server_session, name_server_clock_daily
-- writes: name_server_session
WITH measured_offset AS (
  SELECT s.namesrv, s.boot, max_by(c.offset_ms, c.day) AS clock_offset_ms
  FROM computed_name_server_session s
  JOIN name_server_clock_daily c
    ON c.namesrv = s.namesrv AND c.is_measured
    AND c.day >= day_of(s.first_ts, :zone) AND c.day <= day_of(s.knows_up_to, :zone)
  GROUP BY s.namesrv, s.boot
)
SELECT s.*, m.clock_offset_ms
FROM computed_name_server_session s
LEFT JOIN measured_offset m ON m.namesrv = s.namesrv AND m.boot = s.boot

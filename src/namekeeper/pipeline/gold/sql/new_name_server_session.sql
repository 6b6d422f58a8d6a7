-- Lives of name servers, with how far their clocks were off when that was measured last.
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

-- Boots of name servers, with the losses of each.
-- columns: namesrv, boot, uuid, server_version, port, previous_boot, first_seq, last_seq, first_ts, ended_by,
--   knows_up_to, losses, lost_records, unknown_ms, dropped_changes, dropped_records, clock_steps, clock_back_ms,
--   hidden_ms, cluster_label
-- reads: boot_extent, lost_records, name_server_timeline, server
-- kept: several views read it, and it has few rows
WITH extent AS (
  SELECT
    namesrv, boot, min(first_seq) AS first_seq, max(last_seq) AS last_seq, min(first_ts) AS first_ts,
    max_by(knows_up_to, last_seq) AS knows_up_to, max(hidden_ms) AS hidden_ms
  FROM boot_extent
  GROUP BY namesrv, boot
),
server_summary AS (
  SELECT
    namesrv, boot,
    max(uuid) AS uuid, max(server_version) AS server_version, max(port) AS port,
    max(previous_boot) AS previous_boot, max(observed_addr) AS observed_addr, max(cluster_label) AS cluster_label,
    max(CASE WHEN kind = 'server_stopped' THEN 1 ELSE 0 END) AS stops,
    sum(CASE WHEN kind = 'clock_changed' THEN 1 ELSE 0 END) AS clock_steps,
    min(CASE WHEN kind = 'clock_changed' THEN step_ms END) AS largest_step_back_ms,
    coalesce(max(dropped_changes), 0) AS dropped_changes,
    coalesce(max(dropped_records), 0) AS dropped_records
  FROM server
  GROUP BY namesrv, boot
),
loss_summary AS (
  SELECT namesrv, boot, count(*) AS losses, sum(lost_records) AS lost_records
  FROM lost_records
  GROUP BY namesrv, boot
),
unknown_time AS (
  SELECT namesrv, from_boot AS boot, sum(coalesce(valid_to, valid_from) - valid_from) AS unknown_ms
  FROM name_server_timeline
  WHERE state = 'unknown'
  GROUP BY namesrv, from_boot
)
SELECT
  s.namesrv, s.boot, d.uuid, d.server_version, d.port, d.previous_boot,
  s.first_seq, s.last_seq, s.first_ts,
  CASE
    WHEN d.stops > 0 THEN 'stopped'
    WHEN lead(s.boot) OVER (PARTITION BY s.namesrv ORDER BY s.boot) IS NULL THEN 'running'
    WHEN d.observed_addr IS NOT NULL THEN 'not observed'
    ELSE 'crashed'
  END AS ended_by,
  s.knows_up_to,
  coalesce(l.losses, 0) AS losses,
  coalesce(l.lost_records, 0) AS lost_records,
  coalesce(u.unknown_ms, 0) AS unknown_ms,
  coalesce(d.dropped_changes, 0) AS dropped_changes,
  coalesce(d.dropped_records, 0) AS dropped_records,
  coalesce(d.clock_steps, 0) AS clock_steps,
  CASE WHEN d.largest_step_back_ms < 0 THEN -d.largest_step_back_ms ELSE 0 END AS clock_back_ms,
  s.hidden_ms,
  d.cluster_label
FROM extent s
LEFT JOIN server_summary d ON d.namesrv = s.namesrv AND d.boot = s.boot
LEFT JOIN loss_summary l ON l.namesrv = s.namesrv AND l.boot = s.boot
LEFT JOIN unknown_time u ON u.namesrv = s.namesrv AND u.boot = s.boot

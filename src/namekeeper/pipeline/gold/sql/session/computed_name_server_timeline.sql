-- Within the recompute ranges: when a name server was up and known, unknown or stopped.
-- columns: namesrv, state, boot, valid_from, valid_to, from_boot, from_seq, from_cause, from_peer, from_window_ms,
--   ended_by, to_boot, to_seq, to_cause, to_peer, to_window_ms
-- reads: boundary
SELECT
  namesrv, state,
  CASE WHEN state = 'up' THEN boot END AS boot,
  eff_ts AS valid_from,
  coalesce(to_ts, :forever) AS valid_to,
  boot AS from_boot, position AS from_seq,
  CAST(NULL AS STRING) AS from_cause, CAST(NULL AS STRING) AS from_peer,
  CAST(NULL AS BIGINT) AS from_window_ms,
  ended_by, to_boot, to_position AS to_seq,
  CAST(NULL AS STRING) AS to_cause, CAST(NULL AS STRING) AS to_peer,
  CAST(NULL AS BIGINT) AS to_window_ms
FROM boundary
WHERE NOT is_range_end AND eff_ts < coalesce(to_ts, :forever)

-- When a name server was up and known, unknown or stopped, within the work.
SELECT
  namesrv, state,
  CASE WHEN state = 'up' THEN boot END AS boot,
  eff_ts AS valid_from,
  coalesce(to_ts, :forever) AS valid_to,
  boot AS from_boot, position AS from_seq,
  CAST(NULL AS STRING) AS from_cause, CAST(NULL AS STRING) AS from_peer,
  ended_by, to_boot, to_position AS to_seq,
  CAST(NULL AS STRING) AS to_cause, CAST(NULL AS STRING) AS to_peer
FROM boundary
WHERE NOT is_range_end AND eff_ts < coalesce(to_ts, :forever)

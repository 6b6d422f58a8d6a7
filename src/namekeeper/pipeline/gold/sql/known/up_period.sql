-- When each name server was up and its state known. Time after its last record is left out, as it is
-- not known yet.
-- columns: namesrv, boot, valid_from, valid_to, is_open, witness_at_latest
-- reads: computed_name_server_session, last_record_time, name_server_timeline
-- kept: several views read it, and it has few rows
SELECT
  t.namesrv, t.boot, t.valid_from,
  least(coalesce(t.valid_to, k.up_to), k.up_to) AS valid_to,
  t.valid_to IS NULL AS is_open,
  s.first_ts + :witness_after_ms AS witness_at_latest
FROM name_server_timeline t
JOIN last_record_time k ON k.namesrv = t.namesrv
JOIN computed_name_server_session s ON s.namesrv = t.namesrv AND s.boot = t.boot
WHERE t.state = 'up' AND coalesce(t.valid_to, :forever) > :look_from AND t.valid_from < :look_to
  AND t.valid_from < k.up_to

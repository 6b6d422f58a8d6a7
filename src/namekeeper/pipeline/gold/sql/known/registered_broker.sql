-- Brokers that name servers had registered, as far as is known.
-- columns: namesrv, boot, cluster, broker_name, broker_id, broker_addr, valid_from, valid_to,
--   from_window_ms, to_window_ms, has_unregistered
-- reads: broker_session, up_period
-- kept: several views read it
SELECT
  s.namesrv, s.boot, s.cluster, s.broker_name, s.broker_id, s.broker_addr,
  s.valid_from, least(coalesce(s.valid_to, u.valid_to), u.valid_to) AS valid_to,
  s.from_window_ms, CASE WHEN s.valid_to <= u.valid_to THEN s.to_window_ms END AS to_window_ms,
  coalesce(s.reason = 'unregister_broker' AND s.valid_to <= u.valid_to, false) AS has_unregistered
FROM broker_session s
JOIN up_period u
  ON u.namesrv = s.namesrv AND u.boot = s.boot AND s.valid_from >= u.valid_from AND s.valid_from < u.valid_to
WHERE coalesce(s.valid_to, :forever) > :look_from AND s.valid_from < :look_to

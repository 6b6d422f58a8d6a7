-- Brokers that name servers had registered, as far as is known.
-- columns: namesrv, boot, cluster, broker_name, broker_id, broker_addr, valid_from, valid_to,
--   has_unregistered
-- reads: broker_session, up_period
-- kept: several views read it
SELECT
  s.namesrv, s.boot, s.cluster, s.broker_name, s.broker_id, s.broker_addr,
  s.valid_from, least(coalesce(s.valid_to, u.valid_to), u.valid_to) AS valid_to,
  coalesce(s.reason = 'unregister_broker' AND s.valid_to <= u.valid_to, false) AS has_unregistered
FROM broker_session s
JOIN up_period u
  ON u.namesrv = s.namesrv AND u.boot = s.boot AND s.valid_from >= u.valid_from AND s.valid_from < u.valid_to
WHERE coalesce(s.valid_to, :forever) > :look_from AND s.valid_from < :look_to

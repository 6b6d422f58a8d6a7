-- Brokers that name servers held, as far as is known.
SELECT
  s.namesrv, s.boot, s.cluster, s.broker_name, s.broker_id, s.broker_addr,
  s.valid_from, least(coalesce(s.valid_to, u.valid_to), u.valid_to) AS valid_to
FROM broker_session s
JOIN up_period u
  ON u.namesrv = s.namesrv AND u.boot = s.boot AND s.valid_from >= u.valid_from AND s.valid_from < u.valid_to
WHERE coalesce(s.valid_to, :forever) > :look_from AND s.valid_from < :look_to

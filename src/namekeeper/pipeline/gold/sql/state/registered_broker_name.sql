-- Broker names that name servers had registered, as far as is known.
-- columns: namesrv, boot, is_open, cluster, broker_name, valid_from, valid_to
-- reads: broker_group_history, up_period
-- kept: several views read it
SELECT
  g.namesrv, u.boot, u.is_open AND coalesce(g.valid_to, :forever) >= u.valid_to AS is_open, g.cluster, g.broker_name,
  greatest(g.valid_from, u.valid_from) AS valid_from,
  least(coalesce(g.valid_to, :forever), u.valid_to) AS valid_to
FROM broker_group_history g
JOIN up_period u
  ON u.namesrv = g.namesrv AND g.valid_from < u.valid_to AND coalesce(g.valid_to, :forever) > u.valid_from

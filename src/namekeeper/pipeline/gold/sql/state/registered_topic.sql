-- Topic rows that name servers had registered, as far as is known.
-- columns: namesrv, boot, cluster_label, cluster, broker_name, topic, {values of topic_row},
--   ended_by, reason, valid_from, valid_to, from_window_ms, to_window_ms
-- reads: cluster_of_broker_name, namesrv_label, topic_route, up_period
-- kept: several views read it
SELECT
  r.namesrv, u.boot, c.cluster_label, c.cluster, r.broker_name, r.topic,
  {values of topic_row as r}, r.ended_by, r.reason,
  greatest(r.valid_from, u.valid_from) AS valid_from,
  least(coalesce(r.valid_to, :forever), u.valid_to) AS valid_to,
  CASE WHEN r.valid_from >= u.valid_from THEN r.from_window_ms END AS from_window_ms,
  CASE WHEN r.valid_to <= u.valid_to THEN r.to_window_ms END AS to_window_ms
FROM topic_route r
JOIN up_period u
  ON u.namesrv = r.namesrv AND r.valid_from < u.valid_to AND coalesce(r.valid_to, :forever) > u.valid_from
JOIN namesrv_label k ON k.namesrv = r.namesrv
JOIN cluster_of_broker_name c ON c.broker_name = r.broker_name AND c.cluster_label = k.cluster_label

-- Topic rows that name servers had registered, as far as is known.
-- columns: namesrv, boot, cluster, broker_name, topic, read_queue_nums, write_queue_nums, perm, topic_sys_flag,
--   ended_by, reason, valid_from, valid_to
-- reads: cluster_of_broker_name, topic_route, up_period
-- kept: several views read it
SELECT
  r.namesrv, u.boot, c.cluster, r.broker_name, r.topic,
  r.read_queue_nums, r.write_queue_nums, r.perm, r.topic_sys_flag, r.ended_by, r.reason,
  greatest(r.valid_from, u.valid_from) AS valid_from,
  least(coalesce(r.valid_to, :forever), u.valid_to) AS valid_to
FROM topic_route r
JOIN up_period u
  ON u.namesrv = r.namesrv AND r.valid_from < u.valid_to AND coalesce(r.valid_to, :forever) > u.valid_from
JOIN cluster_of_broker_name c ON c.broker_name = r.broker_name

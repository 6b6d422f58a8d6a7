-- When each name server was a witness for a cluster, without regard to the time after its start.
-- columns: namesrv, boot, cluster_label, cluster, is_open, witness_at_latest, valid_from, valid_to
-- reads: namesrv_label, recently_seen_cluster, up_period
-- kept: several views read it
SELECT
  u.namesrv, u.boot, k.cluster_label, s.cluster, u.is_open AND s.valid_to >= u.valid_to AS is_open, u.witness_at_latest,
  greatest(u.valid_from, s.valid_from) AS valid_from,
  least(u.valid_to, s.valid_to) AS valid_to
FROM up_period u
JOIN namesrv_label k ON k.namesrv = u.namesrv
JOIN recently_seen_cluster s ON s.namesrv = u.namesrv AND s.valid_from < u.valid_to AND s.valid_to > u.valid_from

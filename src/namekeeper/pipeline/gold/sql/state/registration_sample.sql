-- Changes of the topics of registered brokers (broker and data version), with the time at each name server.
-- columns: namesrv, cluster_label, cluster, broker_addr, data_version, at_ts
-- reads: broker_address, namesrv_label
-- kept: several views read it
WITH address_with_previous AS (
  SELECT
    namesrv, boot, gen, cluster, broker_addr, data_version, valid_from, from_cause,
    lag(boot) OVER w AS before_boot, lag(gen) OVER w AS before_gen, lag(data_version) OVER w AS before_version
  FROM broker_address
  WHERE coalesce(valid_to, :forever) >= :look_from AND valid_from < :look_to
  WINDOW w AS (PARTITION BY namesrv, cluster, broker_addr ORDER BY valid_from)
)
SELECT a.namesrv, k.cluster_label, a.cluster, a.broker_addr, a.data_version, min(a.valid_from) AS at_ts
FROM address_with_previous a
JOIN namesrv_label k ON k.namesrv = a.namesrv
WHERE a.boot = a.before_boot AND a.gen = a.before_gen AND a.from_cause IS NOT NULL
  AND a.data_version <> a.before_version AND a.valid_from >= :sample_from
GROUP BY a.namesrv, k.cluster_label, a.cluster, a.broker_addr, a.data_version

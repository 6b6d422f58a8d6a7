-- Changes of the topics of registered brokers (broker and data version), with the time at each name server.
-- columns: namesrv, cluster, broker_addr, data_version, at_ts
-- reads: broker_address
-- kept: several views read it
WITH address_with_previous AS (
  SELECT
    namesrv, boot, gen, cluster, broker_addr, data_version, valid_from, from_cause,
    lag(boot) OVER w AS before_boot, lag(gen) OVER w AS before_gen, lag(data_version) OVER w AS before_version
  FROM broker_address
  WHERE coalesce(valid_to, :forever) >= :look_from AND valid_from < :look_to
  WINDOW w AS (PARTITION BY namesrv, cluster, broker_addr ORDER BY valid_from)
)
SELECT namesrv, cluster, broker_addr, data_version, min(valid_from) AS at_ts
FROM address_with_previous
WHERE boot = before_boot AND gen = before_gen AND from_cause IS NOT NULL AND data_version <> before_version
  AND valid_from >= :sample_from
GROUP BY namesrv, cluster, broker_addr, data_version

-- When each name server had recently seen a broker of a cluster.
-- columns: namesrv, cluster, valid_from, valid_to
-- reads: registered_broker
WITH remembered_period AS (
  SELECT namesrv, cluster, valid_from, valid_to + :memory_ms AS valid_to FROM registered_broker
),
-- include: islands
--   named: island
--   rows: remembered_period
--   key: namesrv, cluster
--   order: valid_from, valid_to
--   continues: valid_from <= max(valid_to) OVER (
--       PARTITION BY namesrv, cluster ORDER BY valid_from, valid_to ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
--     )
SELECT namesrv, cluster, min(valid_from) AS valid_from, max(valid_to) AS valid_to
FROM island
GROUP BY namesrv, cluster, island

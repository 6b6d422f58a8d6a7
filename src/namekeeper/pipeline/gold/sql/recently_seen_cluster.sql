-- When each name server had seen a broker of a cluster not too long ago.
WITH remembered_period AS (
  SELECT namesrv, cluster, valid_from, valid_to + :memory_ms AS valid_to FROM registered_broker
),
marked AS (
  SELECT
    s.*,
    CASE
      WHEN valid_from <= max(valid_to) OVER (
        PARTITION BY namesrv, cluster ORDER BY valid_from, valid_to ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ) THEN 0 ELSE 1
    END AS is_first
  FROM remembered_period s
),
numbered AS (
  SELECT
    m.*,
    sum(is_first) OVER (
      PARTITION BY namesrv, cluster ORDER BY valid_from, valid_to ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS island
  FROM marked m
)
SELECT namesrv, cluster, min(valid_from) AS valid_from, max(valid_to) AS valid_to
FROM numbered
GROUP BY namesrv, cluster, island

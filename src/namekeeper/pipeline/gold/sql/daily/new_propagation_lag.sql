-- How long it took until every name server that took part knew of a change of a registered broker's topics.
-- columns: day, cluster, broker_addr, data_version, name_servers, first_at, last_at, lag_ms, first_namesrv,
--   last_namesrv, first_ts, last_ts, cluster_label
-- reads: name_server_clock_daily, registration_sample, report_day
-- writes: propagation_lag
WITH corrected_sample AS (
  SELECT
    s.namesrv, s.cluster_label, s.cluster, s.broker_addr, s.data_version, s.at_ts,
    s.at_ts - coalesce(c.offset_ms, 0) AS corrected_at
  FROM registration_sample s
  LEFT JOIN name_server_clock_daily c ON c.namesrv = s.namesrv AND c.day = day_of(s.at_ts, :zone)
),
ranked_sample AS (
  SELECT
    c.*,
    first_value(namesrv) OVER (
      PARTITION BY cluster_label, cluster, broker_addr, data_version ORDER BY corrected_at, namesrv
    ) AS first_namesrv,
    first_value(namesrv) OVER (
      PARTITION BY cluster_label, cluster, broker_addr, data_version ORDER BY corrected_at DESC, namesrv
    ) AS last_namesrv
  FROM corrected_sample c
),
version_spread AS (
  SELECT
    cluster_label, cluster, broker_addr, data_version, count(*) AS name_servers,
    min(corrected_at) AS first_at, max(corrected_at) AS last_at,
    min(first_namesrv) AS first_namesrv, min(last_namesrv) AS last_namesrv,
    min(at_ts) AS first_ts, max(at_ts) AS last_ts
  FROM ranked_sample
  GROUP BY cluster_label, cluster, broker_addr, data_version
)
SELECT
  d.day, g.cluster, g.broker_addr, g.data_version, g.name_servers, g.first_at, g.last_at,
  g.last_at - g.first_at AS lag_ms, g.first_namesrv, g.last_namesrv, g.first_ts, g.last_ts,
  nullif(g.cluster_label, '') AS cluster_label
FROM version_spread g
JOIN report_day d ON g.first_at >= d.from_ts AND g.first_at < d.to_ts
WHERE g.name_servers > 1 AND g.last_at - g.first_at < :lag_limit_ms

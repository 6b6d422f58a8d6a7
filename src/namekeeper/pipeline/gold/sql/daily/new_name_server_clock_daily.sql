-- How far the clock of a name server was from the others: the median over registrations that several saw.
-- columns: day, namesrv, offset_ms, samples, is_measured
-- reads: registration_sample, report_day
-- writes: name_server_clock_daily
WITH sample_difference AS (
  SELECT
    namesrv, at_ts,
    at_ts - median(at_ts) OVER (PARTITION BY cluster_label, cluster, broker_addr, data_version) AS difference,
    count(*) OVER (PARTITION BY cluster_label, cluster, broker_addr, data_version) AS name_servers
  FROM registration_sample
),
difference_of_day AS (
  SELECT d.day, c.namesrv, c.difference
  FROM sample_difference c
  JOIN report_day d ON c.at_ts >= d.from_ts AND c.at_ts < d.to_ts
  WHERE c.name_servers > 1
)
SELECT
  day, namesrv,
  CASE WHEN count(*) >= :least_samples THEN CAST(round(median(difference)) AS BIGINT) ELSE 0 END AS offset_ms,
  count(*) AS samples,
  count(*) >= :least_samples AS is_measured
FROM difference_of_day
GROUP BY day, namesrv

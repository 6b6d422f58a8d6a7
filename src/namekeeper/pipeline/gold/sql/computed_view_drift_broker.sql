-- When witnesses disagreed about whether a broker is there, on corrected time.
WITH corrected_registration AS (
  SELECT
    h.namesrv, h.cluster, h.broker_name, h.broker_id, h.broker_addr,
    h.valid_from AS uncorrected_from, h.valid_to AS uncorrected_to,
    h.valid_from - coalesce(f.offset_ms, 0) AS valid_from,
    h.valid_to - coalesce(t.offset_ms, 0) AS valid_to
  FROM registered_broker h
  LEFT JOIN name_server_clock_daily f ON f.namesrv = h.namesrv AND f.day = day_of(h.valid_from, :zone)
  LEFT JOIN name_server_clock_daily t ON t.namesrv = h.namesrv AND t.day = day_of(h.valid_to, :zone)
),
broker AS (
  SELECT DISTINCT cluster, broker_name, broker_id, broker_addr FROM registered_broker
),
witness AS (
  SELECT
    w.namesrv, b.cluster, b.broker_name, b.broker_id, b.broker_addr, w.is_open,
    w.valid_from AS uncorrected_from, w.valid_to AS uncorrected_to,
    w.valid_from - coalesce(f.offset_ms, 0) AS valid_from,
    w.valid_to - coalesce(t.offset_ms, 0) AS valid_to
  FROM broker_witness w
  JOIN broker b ON b.cluster = w.cluster AND b.broker_name = w.broker_name AND b.broker_id = w.broker_id
  LEFT JOIN name_server_clock_daily f ON f.namesrv = w.namesrv AND f.day = day_of(w.valid_from, :zone)
  LEFT JOIN name_server_clock_daily t ON t.namesrv = w.namesrv AND t.day = day_of(w.valid_to, :zone)
),
change_point AS (
  SELECT cluster, broker_name, broker_id, broker_addr, valid_from AS at_ts, namesrv,
    uncorrected_from AS uncorrected_ts, 0 AS is_horizon
  FROM corrected_registration
  UNION ALL
  SELECT cluster, broker_name, broker_id, broker_addr, valid_to, namesrv, uncorrected_to, 0 FROM corrected_registration
  UNION ALL
  SELECT cluster, broker_name, broker_id, broker_addr, valid_from, namesrv, uncorrected_from, 0 FROM witness
  UNION ALL
  SELECT cluster, broker_name, broker_id, broker_addr, valid_to, namesrv, uncorrected_to,
    CASE WHEN is_open THEN 1 ELSE 0 END
  FROM witness
  UNION ALL
  SELECT cluster, broker_name, broker_id, broker_addr, :cut_from, CAST(NULL AS STRING), CAST(NULL AS BIGINT), 0
  FROM broker
),
change_time AS (
  SELECT
    cluster, broker_name, broker_id, broker_addr, at_ts,
    min(namesrv) AS namesrv, min_by(uncorrected_ts, namesrv) AS uncorrected_ts, max(is_horizon) AS is_horizon
  FROM change_point
  WHERE at_ts >= :cut_from
  GROUP BY cluster, broker_name, broker_id, broker_addr, at_ts
),
compared_period AS (
  SELECT
    i.*,
    lead(at_ts) OVER w AS until, lead(namesrv) OVER w AS to_namesrv, lead(uncorrected_ts) OVER w AS to_ts,
    lead(is_horizon) OVER w AS ends_at_horizon
  FROM change_time i
  WINDOW w AS (PARTITION BY cluster, broker_name, broker_id, broker_addr ORDER BY at_ts)
),
observation AS (
  SELECT
    s.cluster, s.broker_name, s.broker_id, s.broker_addr, s.at_ts, s.until, s.namesrv AS from_namesrv,
    s.uncorrected_ts AS from_ts, s.to_namesrv, s.to_ts, s.ends_at_horizon, w.namesrv,
    max(CASE WHEN h.namesrv IS NULL THEN 0 ELSE 1 END) AS holds
  FROM compared_period s
  JOIN witness w
    ON w.cluster = s.cluster AND w.broker_name = s.broker_name AND w.broker_id = s.broker_id
    AND w.broker_addr = s.broker_addr AND w.valid_from <= s.at_ts AND w.valid_to >= s.until
  LEFT JOIN corrected_registration h
    ON h.namesrv = w.namesrv AND h.cluster = s.cluster AND h.broker_name = s.broker_name
    AND h.broker_id = s.broker_id AND h.broker_addr = s.broker_addr
    AND h.valid_from <= s.at_ts AND h.valid_to >= s.until
  WHERE s.until IS NOT NULL
  GROUP BY
    s.cluster, s.broker_name, s.broker_id, s.broker_addr, s.at_ts, s.until, s.namesrv, s.uncorrected_ts,
    s.to_namesrv, s.to_ts,
    s.ends_at_horizon, w.namesrv
)
SELECT
  cluster, broker_name, broker_id, broker_addr,
  sort_array(array_agg(namesrv) FILTER (WHERE holds = 1)) AS held_by,
  sort_array(array_agg(namesrv) FILTER (WHERE holds = 0)) AS missing_at,
  at_ts AS valid_from, least(until, :cut_to) AS valid_to,
  min(from_namesrv) AS from_namesrv, min(from_ts) AS from_ts,
  min(to_namesrv) AS to_namesrv, min(to_ts) AS to_ts,
  max(ends_at_horizon) = 1 AS is_open
FROM observation
WHERE at_ts < :cut_to
GROUP BY cluster, broker_name, broker_id, broker_addr, at_ts, until
HAVING min(holds) = 0 AND max(holds) = 1

-- When name servers that held a broker name disagreed about one of its topics, on corrected time.
WITH witness AS (
  SELECT
    h.namesrv, c.cluster, h.broker_name, h.is_open,
    h.valid_from AS uncorrected_from, h.valid_to AS uncorrected_to,
    h.valid_from - coalesce(a.offset_ms, 0) AS valid_from,
    h.valid_to - coalesce(b.offset_ms, 0) AS valid_to
  FROM registered_broker_name h
  JOIN cluster_of_broker_name c ON c.broker_name = h.broker_name
  LEFT JOIN name_server_clock_daily a ON a.namesrv = h.namesrv AND a.day = day_of(h.valid_from, :zone)
  LEFT JOIN name_server_clock_daily b ON b.namesrv = h.namesrv AND b.day = day_of(h.valid_to, :zone)
),
compared_broker_name AS (
  SELECT cluster, broker_name FROM witness GROUP BY cluster, broker_name HAVING count(DISTINCT namesrv) > 1
),
compared_view AS (
  SELECT v.*
  FROM observed_topic v JOIN compared_broker_name c ON c.cluster = v.cluster AND c.broker_name = v.broker_name
),
known_topic AS (
  SELECT DISTINCT cluster, broker_name, topic FROM compared_view
),
-- Most topics are seen the same by all, all the time: of these nothing has to be compared.
topic AS (
  SELECT t.cluster, t.broker_name, t.topic
  FROM known_topic t
  JOIN witness w ON w.cluster = t.cluster AND w.broker_name = t.broker_name
  LEFT JOIN compared_view v
    ON v.namesrv = w.namesrv AND v.cluster = t.cluster AND v.broker_name = t.broker_name AND v.topic = t.topic
    AND v.valid_from <= w.valid_from AND v.valid_to >= w.valid_to
  GROUP BY t.cluster, t.broker_name, t.topic
  HAVING count(v.topic) < count(*) OR min(v.seen) <> max(v.seen)
),
view AS (
  SELECT v.*
  FROM compared_view v
  JOIN topic t ON t.cluster = v.cluster AND t.broker_name = v.broker_name AND t.topic = v.topic
),
topic_witness AS (
  SELECT t.topic, w.*
  FROM witness w
  JOIN topic t ON t.cluster = w.cluster AND t.broker_name = w.broker_name
),
change_point AS (
  SELECT cluster, broker_name, topic, valid_from AS at_ts, namesrv, uncorrected_from AS uncorrected_ts, 0 AS is_horizon
  FROM view
  UNION ALL
  SELECT cluster, broker_name, topic, valid_to, namesrv, uncorrected_to, 0 FROM view
  UNION ALL
  SELECT cluster, broker_name, topic, valid_from, namesrv, uncorrected_from, 0 FROM topic_witness
  UNION ALL
  SELECT cluster, broker_name, topic, valid_to, namesrv, uncorrected_to, CASE WHEN is_open THEN 1 ELSE 0 END
  FROM topic_witness
  UNION ALL
  SELECT cluster, broker_name, topic, :cut_from, CAST(NULL AS STRING), CAST(NULL AS BIGINT), 0 FROM topic
),
change_time AS (
  SELECT
    cluster, broker_name, topic, at_ts,
    min(namesrv) AS namesrv, min_by(uncorrected_ts, namesrv) AS uncorrected_ts, max(is_horizon) AS is_horizon
  FROM change_point
  WHERE at_ts >= :cut_from
  GROUP BY cluster, broker_name, topic, at_ts
),
compared_period AS (
  SELECT
    i.*,
    lead(at_ts) OVER w AS until, lead(namesrv) OVER w AS to_namesrv, lead(uncorrected_ts) OVER w AS to_ts,
    lead(is_horizon) OVER w AS ends_at_horizon
  FROM change_time i
  WINDOW w AS (PARTITION BY cluster, broker_name, topic ORDER BY at_ts)
),
seen AS (
  SELECT
    s.cluster, s.broker_name, s.topic, s.at_ts, s.until, s.namesrv AS from_namesrv, s.uncorrected_ts AS from_ts,
    s.to_namesrv,
    s.to_ts, s.ends_at_horizon, w.namesrv,
    max(coalesce(v.seen, 'absent')) AS seen
  FROM compared_period s
  JOIN topic_witness w
    ON w.cluster = s.cluster AND w.broker_name = s.broker_name AND w.topic = s.topic
    AND w.valid_from <= s.at_ts AND w.valid_to >= s.until
  LEFT JOIN view v
    ON v.namesrv = w.namesrv AND v.cluster = s.cluster AND v.broker_name = s.broker_name AND v.topic = s.topic
    AND v.valid_from <= s.at_ts AND v.valid_to >= s.until
  WHERE s.until IS NOT NULL
  GROUP BY
    s.cluster, s.broker_name, s.topic, s.at_ts, s.until, s.namesrv, s.uncorrected_ts, s.to_namesrv, s.to_ts,
    s.ends_at_horizon, w.namesrv
)
SELECT
  cluster, broker_name, topic,
  sort_array(array_agg(concat(namesrv, ': ', seen))) AS views,
  at_ts AS valid_from, least(until, :cut_to) AS valid_to,
  min(from_namesrv) AS from_namesrv, min(from_ts) AS from_ts,
  min(to_namesrv) AS to_namesrv, min(to_ts) AS to_ts,
  max(ends_at_horizon) = 1 AS is_open
FROM seen
WHERE at_ts < :cut_to
GROUP BY cluster, broker_name, topic, at_ts, until
HAVING count(DISTINCT seen) > 1

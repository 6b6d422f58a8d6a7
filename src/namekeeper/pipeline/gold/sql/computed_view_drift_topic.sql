-- When name servers that held a broker name disagreed about one of its topics, on corrected time.
WITH witness AS (
  SELECT
    h.namesrv, c.cluster, h.broker_name, h.is_open,
    h.valid_from AS raw_from, h.valid_to AS raw_to,
    h.valid_from - coalesce(a.offset_ms, 0) AS valid_from,
    h.valid_to - coalesce(b.offset_ms, 0) AS valid_to
  FROM held_name h
  JOIN name_cluster c ON c.broker_name = h.broker_name
  LEFT JOIN name_server_clock_daily a ON a.namesrv = h.namesrv AND a.day = day_of(h.valid_from, :zone)
  LEFT JOIN name_server_clock_daily b ON b.namesrv = h.namesrv AND b.day = day_of(h.valid_to, :zone)
),
compared AS (
  SELECT cluster, broker_name FROM witness GROUP BY cluster, broker_name HAVING count(DISTINCT namesrv) > 1
),
held AS (
  SELECT v.* FROM held_view v JOIN compared c ON c.cluster = v.cluster AND c.broker_name = v.broker_name
),
known_topic AS (
  SELECT DISTINCT cluster, broker_name, topic FROM held
),
-- Most topics are seen the same by all, all the time: of these nothing has to be compared.
topic AS (
  SELECT t.cluster, t.broker_name, t.topic
  FROM known_topic t
  JOIN witness w ON w.cluster = t.cluster AND w.broker_name = t.broker_name
  LEFT JOIN held v
    ON v.namesrv = w.namesrv AND v.cluster = t.cluster AND v.broker_name = t.broker_name AND v.topic = t.topic
    AND v.valid_from <= w.valid_from AND v.valid_to >= w.valid_to
  GROUP BY t.cluster, t.broker_name, t.topic
  HAVING count(v.topic) < count(*) OR min(v.seen) <> max(v.seen)
),
view AS (
  SELECT v.*
  FROM held v
  JOIN topic t ON t.cluster = v.cluster AND t.broker_name = v.broker_name AND t.topic = v.topic
),
topic_witness AS (
  SELECT t.topic, w.*
  FROM witness w
  JOIN topic t ON t.cluster = w.cluster AND t.broker_name = w.broker_name
),
point AS (
  SELECT cluster, broker_name, topic, valid_from AS at_ts, namesrv, raw_from AS raw, 0 AS is_horizon FROM view
  UNION ALL
  SELECT cluster, broker_name, topic, valid_to, namesrv, raw_to, 0 FROM view
  UNION ALL
  SELECT cluster, broker_name, topic, valid_from, namesrv, raw_from, 0 FROM topic_witness
  UNION ALL
  SELECT cluster, broker_name, topic, valid_to, namesrv, raw_to, CASE WHEN is_open THEN 1 ELSE 0 END
  FROM topic_witness
  UNION ALL
  SELECT cluster, broker_name, topic, :cut_from, CAST(NULL AS STRING), CAST(NULL AS BIGINT), 0 FROM topic
),
instant AS (
  SELECT
    cluster, broker_name, topic, at_ts,
    min(namesrv) AS namesrv, min_by(raw, namesrv) AS raw, max(is_horizon) AS is_horizon
  FROM point
  WHERE at_ts >= :cut_from
  GROUP BY cluster, broker_name, topic, at_ts
),
stretch AS (
  SELECT
    i.*,
    lead(at_ts) OVER w AS until, lead(namesrv) OVER w AS to_namesrv, lead(raw) OVER w AS to_raw,
    lead(is_horizon) OVER w AS ends_at_horizon
  FROM instant i
  WINDOW w AS (PARTITION BY cluster, broker_name, topic ORDER BY at_ts)
),
seen AS (
  SELECT
    s.cluster, s.broker_name, s.topic, s.at_ts, s.until, s.namesrv AS from_namesrv, s.raw AS from_raw, s.to_namesrv,
    s.to_raw, s.ends_at_horizon, w.namesrv,
    max(coalesce(v.seen, 'absent')) AS seen
  FROM stretch s
  JOIN topic_witness w
    ON w.cluster = s.cluster AND w.broker_name = s.broker_name AND w.topic = s.topic
    AND w.valid_from <= s.at_ts AND w.valid_to >= s.until
  LEFT JOIN view v
    ON v.namesrv = w.namesrv AND v.cluster = s.cluster AND v.broker_name = s.broker_name AND v.topic = s.topic
    AND v.valid_from <= s.at_ts AND v.valid_to >= s.until
  WHERE s.until IS NOT NULL
  GROUP BY
    s.cluster, s.broker_name, s.topic, s.at_ts, s.until, s.namesrv, s.raw, s.to_namesrv, s.to_raw,
    s.ends_at_horizon, w.namesrv
)
SELECT
  cluster, broker_name, topic,
  sort_array(array_agg(concat(namesrv, ': ', seen))) AS views,
  at_ts AS valid_from, least(until, :cut_to) AS valid_to,
  min(from_namesrv) AS from_namesrv, min(from_raw) AS from_ts,
  min(to_namesrv) AS to_namesrv, min(to_raw) AS to_ts,
  max(ends_at_horizon) = 1 AS is_open
FROM seen
WHERE at_ts < :cut_to
GROUP BY cluster, broker_name, topic, at_ts, until
HAVING count(DISTINCT seen) > 1

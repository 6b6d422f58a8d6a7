-- Query: periods in which the witnesses of a subject (`$key`) did not all see the same. `$observed` has what
-- each name server saw, in column `seen`, and the windows of its ends; `$witness` has the periods of each
-- witness; `$subject` has every subject; `$absent` is the value of `seen` for a witness that saw nothing. `$named`
-- is the key without the cluster of name servers: the witnesses of one subject are of one cluster.
-- `$views` are the columns with the views of the witnesses. A period ends where the witnesses or what they
-- see change, so within it each witness sees one thing.
change_point AS (
  SELECT
    $key, valid_from AS at_ts, namesrv, uncorrected_from AS uncorrected_ts, 0 AS is_horizon,
    from_window_ms AS window_ms
  FROM $observed
  UNION ALL
  SELECT $key, valid_to, namesrv, uncorrected_to, 0, to_window_ms FROM $observed
  UNION ALL
  SELECT $key, valid_from, namesrv, uncorrected_from, 0, NULL FROM $witness
  UNION ALL
  SELECT $key, valid_to, namesrv, uncorrected_to, CASE WHEN is_open THEN 1 ELSE 0 END, NULL FROM $witness
  UNION ALL
  SELECT $key, :cut_from, CAST(NULL AS STRING), CAST(NULL AS BIGINT), 0, NULL FROM $subject
),
change_time AS (
  SELECT
    $key, at_ts,
    min(namesrv) AS namesrv, min_by(uncorrected_ts, namesrv) AS uncorrected_ts, max(is_horizon) AS is_horizon,
    max(window_ms) AS window_ms
  FROM change_point
  WHERE at_ts >= :cut_from
  GROUP BY $key, at_ts
),
compared_period AS (
  SELECT
    $key, at_ts, namesrv AS from_namesrv, uncorrected_ts AS from_ts, window_ms AS from_window_ms,
    lead(at_ts) OVER w AS until, lead(namesrv) OVER w AS to_namesrv, lead(uncorrected_ts) OVER w AS to_ts,
    lead(is_horizon) OVER w AS ends_at_horizon, lead(window_ms) OVER w AS to_window_ms
  FROM change_time
  WINDOW w AS (PARTITION BY $key ORDER BY at_ts)
),
observation AS (
  SELECT
    $p_key, p.at_ts, p.until, p.from_namesrv, p.from_ts, p.to_namesrv, p.to_ts, p.ends_at_horizon, p.from_window_ms,
    p.to_window_ms, w.namesrv,
    max(coalesce(o.seen, $absent)) AS seen
  FROM compared_period p
  JOIN $witness w ON $same_as_w AND w.valid_from <= p.at_ts AND w.valid_to >= p.until
  LEFT JOIN $observed o
    ON o.namesrv = w.namesrv AND $same_as_o AND o.valid_from <= p.at_ts AND o.valid_to >= p.until
  WHERE p.until IS NOT NULL
  GROUP BY
    $p_key, p.at_ts, p.until, p.from_namesrv, p.from_ts, p.to_namesrv, p.to_ts, p.ends_at_horizon,
    p.from_window_ms, p.to_window_ms, w.namesrv
)
SELECT
  $named,
  $views,
  at_ts AS valid_from, least(until, :cut_to) AS valid_to,
  min(from_namesrv) AS from_namesrv, min(from_ts) AS from_ts, min(from_window_ms) AS from_window_ms,
  min(to_namesrv) AS to_namesrv, min(to_ts) AS to_ts,
  min(to_window_ms) AS to_window_ms,
  max(ends_at_horizon) = 1 AS is_open
FROM observation
WHERE at_ts < :cut_to
GROUP BY $key, at_ts, until
HAVING min(seen) <> max(seen)

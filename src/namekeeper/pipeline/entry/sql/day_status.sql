WITH newest AS (
  SELECT namesrv, min(first_ts) AS first_ts, max_by(knows_up_to, boot) AS knows_up_to
  FROM name_server_session
  GROUP BY namesrv
),
-- Of each day and name server the time in which its state is not known because records were lost.
lost AS (
  SELECT
    d.day, n.namesrv,
    sum(least(coalesce(t.valid_to, n.knows_up_to), d.to_ts) - greatest(t.valid_from, d.from_ts)) AS unknown_ms
  FROM name_server_timeline t
  JOIN newest n ON n.namesrv = t.namesrv
  JOIN dim_day d ON t.valid_from < d.to_ts AND coalesce(t.valid_to, n.knows_up_to) > d.from_ts
  WHERE t.state = 'unknown' AND t.valid_from < coalesce(t.valid_to, n.knows_up_to)
  GROUP BY d.day, n.namesrv
)
SELECT
  d.day, n.namesrv, timestamp_millis(n.knows_up_to) AS knows_up_to, n.knows_up_to >= d.to_ts AS is_final,
  CAST(coalesce(l.unknown_ms, 0) AS BIGINT) AS unknown_ms
FROM dim_day d
JOIN newest n ON n.first_ts < d.to_ts
LEFT JOIN lost l ON l.day = d.day AND l.namesrv = n.namesrv

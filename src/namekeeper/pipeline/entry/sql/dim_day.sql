WITH known AS (
  SELECT min(first_ts) AS from_ts, max(knows_up_to) AS up_to FROM name_server_session
),
-- Every time zone begins its days at a quarter of an hour. 26 hours more than what is known hold whole days.
quarter AS (
  SELECT
    explode(sequence(from_ts - from_ts % 900000 - 93600000, up_to - up_to % 900000 + 93600000, 900000)) AS at_ts
  FROM known
),
named AS (
  SELECT day_of(at_ts, :zone) AS day, at_ts FROM quarter
),
span AS (
  SELECT day, min(at_ts) AS from_ts, max(at_ts) + 900000 AS to_ts FROM named GROUP BY day
)
SELECT
  CAST(s.day AS DATE) AS day, timestamp_millis(s.from_ts) AS starts_at, timestamp_millis(s.to_ts) AS ends_at,
  s.to_ts - s.from_ts AS length_ms, s.from_ts, s.to_ts
FROM span s
CROSS JOIN known k
WHERE s.to_ts > k.from_ts AND s.from_ts <= k.up_to

-- Signs of life of each session on each day, and the silences between them. The names of a session are looked for
-- apart: engines add numbers up fast, but sort for the least of some texts.
WITH placed AS (
  SELECT d.day, m.*
  FROM broker_minute m
  JOIN activity_day d ON m.minute >= d.from_ts AND m.minute < d.to_ts
),
told AS (
  SELECT DISTINCT day, namesrv, boot, gen, cluster, broker_name, broker_id, broker_addr FROM placed
),
named AS (
  SELECT
    day, namesrv, boot, gen, min(cluster) AS cluster, min(broker_name) AS broker_name,
    min(broker_id) AS broker_id, min(broker_addr) AS broker_addr
  FROM told
  GROUP BY day, namesrv, boot, gen
),
of_minute AS (
  SELECT
    day, namesrv, boot, gen, minute, sum(`count`) AS heartbeats, sum(registrations) AS registrations,
    max(max_gap_ms) AS max_gap_ms, max(last_seen) AS last_seen,
    sum(try_element_at(gaps, 1)) AS under_1s, sum(try_element_at(gaps, 2)) AS under_5s,
    sum(try_element_at(gaps, 3)) AS under_10s, sum(try_element_at(gaps, 4)) AS under_20s,
    sum(try_element_at(gaps, 5)) AS under_35s, sum(try_element_at(gaps, 6)) AS under_65s,
    sum(try_element_at(gaps, 7)) AS under_125s, sum(try_element_at(gaps, 8)) AS longer
  FROM placed
  GROUP BY day, namesrv, boot, gen, minute
),
added AS (
  SELECT
    day, namesrv, boot, gen, count(*) AS minutes, sum(heartbeats) AS heartbeats,
    sum(registrations) AS registrations, max(max_gap_ms) AS max_gap_ms, max(last_seen) AS last_seen,
    sum(under_1s) AS under_1s, sum(under_5s) AS under_5s, sum(under_10s) AS under_10s,
    sum(under_20s) AS under_20s, sum(under_35s) AS under_35s, sum(under_65s) AS under_65s,
    sum(under_125s) AS under_125s, sum(longer) AS longer
  FROM of_minute
  GROUP BY day, namesrv, boot, gen
)
SELECT
  a.day, a.namesrv, a.boot, a.gen, n.cluster, n.broker_name, n.broker_id, n.broker_addr, a.minutes, a.heartbeats,
  a.registrations, a.max_gap_ms, a.last_seen,
  coalesce(under_1s, 0) AS under_1s, coalesce(under_5s, 0) AS under_5s, coalesce(under_10s, 0) AS under_10s,
  coalesce(under_20s, 0) AS under_20s, coalesce(under_35s, 0) AS under_35s, coalesce(under_65s, 0) AS under_65s,
  coalesce(under_125s, 0) AS under_125s, coalesce(longer, 0) AS longer
FROM added a
JOIN named n ON n.day = a.day AND n.namesrv = a.namesrv AND n.boot = a.boot AND n.gen = a.gen

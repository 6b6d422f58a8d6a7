-- Signs of life of each session on each day, and the silences between them. They are summed up by the hour
-- first, or by a shorter unit that divides every day; minutes with a sign of life are bits of a number. There
-- are too many minutes to group by each of them, or to compute the day of each.
-- columns: day, namesrv, boot, gen, cluster, broker_name, broker_id, broker_addr, minutes, heartbeats, registrations,
--   max_gap_ms, last_seen, under_1s, under_5s, under_10s, under_20s, under_35s, under_65s, under_125s, longer,
--   body_bytes
-- reads: activity_day, broker_minute
-- writes: heartbeat_gap_daily
WITH hourly_activity AS (
  SELECT
    m.namesrv, m.boot, m.gen, m.cluster, m.broker_name, m.broker_id, m.broker_addr,
    m.minute - m.minute % :unit_ms AS hour,
    bit_or(CAST(1 AS BIGINT) << CAST(floor((m.minute % :unit_ms) / 60000) AS INT)) AS minutes,
    sum(m.`count`) AS heartbeats, sum(m.registrations) AS registrations,
    max(m.max_gap_ms) AS max_gap_ms, max(m.last_seen) AS last_seen, max(m.body_bytes) AS body_bytes,
    sum(try_element_at(m.gaps, 1)) AS under_1s, sum(try_element_at(m.gaps, 2)) AS under_5s,
    sum(try_element_at(m.gaps, 3)) AS under_10s, sum(try_element_at(m.gaps, 4)) AS under_20s,
    sum(try_element_at(m.gaps, 5)) AS under_35s, sum(try_element_at(m.gaps, 6)) AS under_65s,
    sum(try_element_at(m.gaps, 7)) AS under_125s, sum(try_element_at(m.gaps, 8)) AS longer
  FROM broker_minute m
  WHERE m.minute >= :from_ts AND m.minute < :to_ts
  GROUP BY
    m.namesrv, m.boot, m.gen, m.cluster, m.broker_name, m.broker_id, m.broker_addr, m.minute - m.minute % :unit_ms
)
SELECT
  d.day, h.namesrv, h.boot, h.gen, min(h.cluster) AS cluster, min(h.broker_name) AS broker_name,
  min(h.broker_id) AS broker_id, min(h.broker_addr) AS broker_addr, sum(bit_count(h.minutes)) AS minutes,
  sum(h.heartbeats) AS heartbeats, sum(h.registrations) AS registrations, max(h.max_gap_ms) AS max_gap_ms,
  max(h.last_seen) AS last_seen, coalesce(sum(h.under_1s), 0) AS under_1s, coalesce(sum(h.under_5s), 0) AS under_5s,
  coalesce(sum(h.under_10s), 0) AS under_10s, coalesce(sum(h.under_20s), 0) AS under_20s,
  coalesce(sum(h.under_35s), 0) AS under_35s, coalesce(sum(h.under_65s), 0) AS under_65s,
  coalesce(sum(h.under_125s), 0) AS under_125s, coalesce(sum(h.longer), 0) AS longer, max(h.body_bytes) AS body_bytes
FROM hourly_activity h
JOIN activity_day d ON h.hour >= d.from_ts AND h.hour < d.to_ts
GROUP BY d.day, h.namesrv, h.boot, h.gen

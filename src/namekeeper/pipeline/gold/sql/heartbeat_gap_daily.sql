-- Signs of life of each session on each day, and the silences between them. They are added up by the hour first, the
-- minutes that have some as bits of a number, because there are too many minutes for a group of each.
WITH of_hour AS (
  SELECT
    d.day, m.namesrv, m.boot, m.gen, m.cluster, m.broker_name, m.broker_id, m.broker_addr,
    bit_or(CAST(1 AS BIGINT) << CAST(floor((m.minute % 3600000) / 60000) AS INT)) AS minutes,
    sum(m.`count`) AS heartbeats, sum(m.registrations) AS registrations,
    max(m.max_gap_ms) AS max_gap_ms, max(m.last_seen) AS last_seen, max(m.body_bytes) AS body_bytes,
    sum(try_element_at(m.gaps, 1)) AS under_1s, sum(try_element_at(m.gaps, 2)) AS under_5s,
    sum(try_element_at(m.gaps, 3)) AS under_10s, sum(try_element_at(m.gaps, 4)) AS under_20s,
    sum(try_element_at(m.gaps, 5)) AS under_35s, sum(try_element_at(m.gaps, 6)) AS under_65s,
    sum(try_element_at(m.gaps, 7)) AS under_125s, sum(try_element_at(m.gaps, 8)) AS longer
  FROM broker_minute m
  JOIN activity_day d ON m.minute >= d.from_ts AND m.minute < d.to_ts
  GROUP BY
    d.day, m.namesrv, m.boot, m.gen, m.cluster, m.broker_name, m.broker_id, m.broker_addr,
    m.minute - m.minute % 3600000
)
SELECT
  day, namesrv, boot, gen, min(cluster) AS cluster, min(broker_name) AS broker_name, min(broker_id) AS broker_id,
  min(broker_addr) AS broker_addr, sum(bit_count(minutes)) AS minutes, sum(heartbeats) AS heartbeats,
  sum(registrations) AS registrations, max(max_gap_ms) AS max_gap_ms, max(last_seen) AS last_seen,
  coalesce(sum(under_1s), 0) AS under_1s, coalesce(sum(under_5s), 0) AS under_5s,
  coalesce(sum(under_10s), 0) AS under_10s, coalesce(sum(under_20s), 0) AS under_20s,
  coalesce(sum(under_35s), 0) AS under_35s, coalesce(sum(under_65s), 0) AS under_65s,
  coalesce(sum(under_125s), 0) AS under_125s, coalesce(sum(longer), 0) AS longer, max(body_bytes) AS body_bytes
FROM of_hour
GROUP BY day, namesrv, boot, gen

-- How long each topic could be written to on each day.
-- columns: day, cluster, topic, writable_ms, unwritable_ms, no_route_ms, unknown_ms
-- reads: report_day, topic_state
-- writes: topic_availability_daily
SELECT
  d.day, s.cluster, s.topic,
  sum(CASE WHEN s.state = 'writable' THEN least(s.valid_to, d.to_ts) - greatest(s.valid_from, d.from_ts) ELSE 0 END)
    AS writable_ms,
  sum(CASE WHEN s.state = 'unwritable' THEN least(s.valid_to, d.to_ts) - greatest(s.valid_from, d.from_ts) ELSE 0 END)
    AS unwritable_ms,
  sum(CASE WHEN s.state = 'no_route' THEN least(s.valid_to, d.to_ts) - greatest(s.valid_from, d.from_ts) ELSE 0 END)
    AS no_route_ms,
  sum(CASE WHEN s.state = 'unknown' THEN least(s.valid_to, d.to_ts) - greatest(s.valid_from, d.from_ts) ELSE 0 END)
    AS unknown_ms
FROM topic_state s
JOIN report_day d ON s.valid_from < d.to_ts AND s.valid_to > d.from_ts
GROUP BY d.day, s.cluster, s.topic

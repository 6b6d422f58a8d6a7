-- A topic, the time in which it could be written to, and that in which it could not at the worst name server of each
-- day, added up; worst_namesrv is that of the worst day.
-- columns: cluster, topic, writable_ms, unwritable_ms, no_route_ms, unknown_ms, worst_namesrv, worst_ms,
--   uncertain_ms, cluster_label
-- reads: topic_availability_daily
WITH total AS (
  SELECT
    cluster_label, cluster, topic, sum(writable_ms) AS writable_ms, sum(unwritable_ms) AS unwritable_ms,
    sum(no_route_ms) AS no_route_ms, sum(unknown_ms) AS unknown_ms,
    max_by(worst_namesrv, (worst_ms, worst_namesrv)) AS worst_namesrv, sum(worst_ms) AS worst_ms,
    coalesce(sum(uncertain_ms), 0) AS uncertain_ms
  FROM topic_availability_daily
  WHERE (:first_day IS NULL OR day >= :first_day) AND (:last_day IS NULL OR day <= :last_day)
    AND (:label IS NULL OR cluster_label = :label)
  GROUP BY cluster_label, cluster, topic
)
SELECT cluster, topic, writable_ms, unwritable_ms, no_route_ms, unknown_ms, worst_namesrv, worst_ms,
  uncertain_ms, cluster_label
FROM total
WHERE unwritable_ms + no_route_ms >= :least_ms
ORDER BY unwritable_ms + no_route_ms DESC, cluster, topic, cluster_label NULLS FIRST

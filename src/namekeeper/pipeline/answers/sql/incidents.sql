-- An incident of these days; the one with the highest cost comes first.
-- columns: kind, cluster, subject, from_ts, to_ts, is_open, lasted_ms, cause, peer, brokers, broker_names, topics,
--   first_topic, name_servers, lookups, languages, is_forgotten, topic_ms, closed_by, from_window_ms, to_window_ms,
--   cluster_label
-- reads: incident, name_server_session
WITH known AS (
  SELECT max(knows_up_to) AS up_to FROM name_server_session
)
SELECT
  i.kind, i.cluster, i.subject, i.from_ts, i.to_ts, i.is_open,
  coalesce(i.to_ts, k.up_to) - i.from_ts AS lasted_ms,
  i.cause, i.peer, i.brokers, i.broker_names, i.topics, i.first_topic, i.name_servers, i.lookups, i.languages,
  i.is_forgotten, i.topic_ms, i.closed_by, i.from_window_ms, i.to_window_ms, i.cluster_label
FROM incident i
CROSS JOIN known k
WHERE
  (:first_day IS NULL OR i.to_ts IS NULL OR day_of(i.to_ts - 1, :zone) >= :first_day)
  AND (:last_day IS NULL OR day_of(i.from_ts, :zone) <= :last_day)
  AND (:label IS NULL OR i.cluster_label = :label)
ORDER BY
  -- A lookup in vain weighs as much as a topic that can't be written to for a minute.
  i.lookups * 60000
    + CASE
      WHEN i.kind IN ('drift', 'broker_unregistered', 'topic_deleted') THEN 0
      ELSE coalesce(i.topic_ms, i.topics * lasted_ms)
    END DESC,
  CASE WHEN i.kind IN ('drift', 'broker_unregistered', 'topic_deleted') THEN 0 ELSE greatest(i.brokers, 1) END
    * lasted_ms DESC,
  CASE WHEN i.kind = 'broker_unregistered' THEN 1 ELSE 0 END, lasted_ms DESC, i.from_ts, i.kind, i.cluster, i.subject,
  i.cluster_label NULLS FIRST

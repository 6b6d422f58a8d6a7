-- A static-topic mapping of a topic, or of any topic, at an instant.
-- columns: namesrv, {row of topic_mapping}
-- reads: topic_mapping_history
SELECT namesrv, {row of topic_mapping}
FROM topic_mapping_history
WHERE
  (:topic IS NULL OR topic = :topic) AND (:namesrv IS NULL OR namesrv = :namesrv)
  AND valid_from <= :at AND (valid_to IS NULL OR valid_to > :at)
ORDER BY namesrv, topic, broker_name

-- A static-topic mapping of a topic at an instant.
-- columns: namesrv, topic, broker_name, mapping
-- reads: topic_mapping_history
SELECT namesrv, topic, broker_name, mapping
FROM topic_mapping_history
WHERE topic = :topic AND valid_from <= :at AND (valid_to IS NULL OR valid_to > :at)
ORDER BY namesrv, broker_name

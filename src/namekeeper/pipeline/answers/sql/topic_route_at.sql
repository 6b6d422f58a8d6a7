-- A row of a topic, or of any topic, that a name server had at an instant.
-- columns: namesrv, {row of topic_row}, valid_from, from_cause, from_peer
-- reads: topic_route
SELECT namesrv, {row of topic_row}, valid_from, from_cause, from_peer
FROM topic_route
WHERE
  (:topic IS NULL OR topic = :topic) AND (:namesrv IS NULL OR namesrv = :namesrv)
  AND valid_from <= :at AND (valid_to IS NULL OR valid_to > :at)
ORDER BY namesrv, broker_name, topic

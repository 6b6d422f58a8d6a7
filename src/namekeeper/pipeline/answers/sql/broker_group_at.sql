-- A broker name that had a topic at an instant, or any broker name.
-- columns: namesrv, {row of broker_group}
-- reads: broker_group_history, topic_route
WITH of_topic AS (
  SELECT namesrv, broker_name
  FROM topic_route
  WHERE topic = :topic AND valid_from <= :at AND (valid_to IS NULL OR valid_to > :at)
)
SELECT g.namesrv, {row of broker_group as g}
FROM broker_group_history g
LEFT JOIN of_topic t ON t.namesrv = g.namesrv AND t.broker_name = g.broker_name
WHERE
  (:topic IS NULL OR t.broker_name IS NOT NULL) AND (:namesrv IS NULL OR g.namesrv = :namesrv)
  AND g.valid_from <= :at AND (g.valid_to IS NULL OR g.valid_to > :at)
ORDER BY g.namesrv, g.broker_name

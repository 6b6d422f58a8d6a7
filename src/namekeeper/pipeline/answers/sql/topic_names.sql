-- The name of a topic that some name server had.
-- columns: topic
-- reads: topic_route
SELECT DISTINCT topic
FROM topic_route
ORDER BY topic

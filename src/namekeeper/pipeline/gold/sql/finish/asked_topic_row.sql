-- Rows of topics that clients asked for in vain at some time, with the label that the name server had at their end.
-- columns: cluster_label, cluster, topic, namesrv, broker_name, valid_from, valid_to, is_deleted, cause, peer,
--   to_window_ms
-- reads: broker_group_history, labelled_period, topic_route, unknown_topic_minute
-- kept: most runs have none, so that Spark leaves out most of the query over it
WITH
-- include: last_cluster,
asked_topic AS (
  SELECT DISTINCT topic FROM unknown_topic_minute WHERE topic IS NOT NULL
)
SELECT
  k.cluster_label, c.cluster, r.topic, r.namesrv, r.broker_name, r.valid_from,
  coalesce(r.valid_to, :forever) AS valid_to,
  r.ended_by = 'gone' AND r.reason IS NULL AS is_deleted, r.to_cause AS cause, r.to_peer AS peer, r.to_window_ms
FROM topic_route r
JOIN asked_topic a ON a.topic = r.topic
JOIN labelled_period k
  ON k.namesrv = r.namesrv AND k.from_ts < coalesce(r.valid_to, :forever)
  AND k.to_ts >= coalesce(r.valid_to, :forever)
JOIN cluster_of c ON c.broker_name = r.broker_name AND c.cluster_label = k.cluster_label

-- A topic without a route that clients looked up, the most wanted first.
-- columns: topic, bucket, lookups, name_servers, languages, first_minute, last_minute
-- reads: name_server_label_daily, unknown_topic_daily
SELECT
  topic, bucket, sum(lookups) AS lookups, count(DISTINCT namesrv) AS name_servers,
  sort_array(collect_set(language)) AS languages, min(first_minute) AS first_minute,
  max(last_minute) AS last_minute
FROM unknown_topic_daily
WHERE (:first_day IS NULL OR day >= :first_day) AND (:last_day IS NULL OR day <= :last_day)
  AND (:label IS NULL OR namesrv IN (SELECT namesrv FROM name_server_label_daily WHERE cluster_label = :label))
GROUP BY topic, bucket
ORDER BY lookups DESC, topic NULLS FIRST, bucket NULLS FIRST

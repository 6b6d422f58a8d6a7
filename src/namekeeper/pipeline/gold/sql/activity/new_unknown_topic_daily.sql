-- Topics that clients asked for and that did not exist, on each day.
-- columns: day, namesrv, topic, bucket, language, client_version, lookups, first_minute, last_minute
-- reads: activity_day, unknown_topic_minute
-- writes: unknown_topic_daily
SELECT
  d.day, u.namesrv, u.topic, u.bucket, u.language, u.client_version,
  sum(u.`count`) AS lookups, min(u.minute) AS first_minute, max(u.minute) AS last_minute
FROM unknown_topic_minute u
JOIN activity_day d ON u.minute >= d.from_ts AND u.minute < d.to_ts
GROUP BY d.day, u.namesrv, u.topic, u.bucket, u.language, u.client_version

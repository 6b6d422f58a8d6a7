-- Lookups of a topic that found no route, in a minute.
-- columns: namesrv, minute, language, client_version, count
-- reads: unknown_topic_minute
SELECT namesrv, minute, language, client_version, count
FROM unknown_topic_minute
WHERE
  topic = :topic AND minute >= :since AND minute <= :until AND (:namesrv IS NULL OR namesrv = :namesrv)
ORDER BY namesrv, minute

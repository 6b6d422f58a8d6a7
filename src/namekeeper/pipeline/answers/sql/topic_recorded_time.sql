-- When something was recorded about a topic; what checkpoints say counts too.
-- columns: namesrv, ts
-- reads: topic_row
SELECT DISTINCT namesrv, ts
FROM topic_row
WHERE topic = :topic AND (:namesrv IS NULL OR namesrv = :namesrv)
ORDER BY namesrv, ts

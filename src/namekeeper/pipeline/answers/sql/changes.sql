-- A record of a change and its requester, the newest first.
-- columns: day, at_ts, ts, namesrv, boot, seq, kind, cause, peer, action, cluster, broker_name, broker_addr,
--   topic, items, detail, window_ms
-- reads: change_log
SELECT
  day, at_ts, ts, namesrv, boot, seq, kind, cause, peer, action, cluster, broker_name, broker_addr, topic,
  items, detail, window_ms
FROM change_log
WHERE
  (:first_day IS NULL OR day >= :first_day) AND (:last_day IS NULL OR day <= :last_day)
  AND (:topic IS NULL OR topic = :topic)
ORDER BY at_ts DESC, namesrv, boot DESC, seq DESC

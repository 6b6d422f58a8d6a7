-- A record of a change and its requester, the newest first.
-- columns: day, at_ts, ts, namesrv, boot, seq, kind, cause, peer, action, cluster, broker_name, broker_addr,
--   topic, items, detail, window_ms
-- reads: change_log, name_server_label_daily
SELECT
  day, at_ts, ts, namesrv, boot, seq, kind, cause, peer, action, cluster, broker_name, broker_addr, topic,
  items, detail, window_ms
FROM change_log
WHERE
  (:first_day IS NULL OR day >= :first_day) AND (:last_day IS NULL OR day <= :last_day)
  AND (:label IS NULL OR namesrv IN (SELECT namesrv FROM name_server_label_daily WHERE cluster_label = :label))
  AND (:topic IS NULL OR topic = :topic)
ORDER BY at_ts DESC, namesrv, boot DESC, seq DESC

-- An entry of the KV configuration at an instant: the one that orders the queues of a topic, or all.
-- columns: namesrv, {row of kv}
-- reads: kv_history
SELECT namesrv, {row of kv}
FROM kv_history
WHERE
  (:topic IS NULL OR (namespace = 'ORDER_TOPIC_CONFIG' AND `key` = :topic))
  AND (:namesrv IS NULL OR namesrv = :namesrv) AND valid_from <= :at AND (valid_to IS NULL OR valid_to > :at)
ORDER BY namesrv, namespace, `key`

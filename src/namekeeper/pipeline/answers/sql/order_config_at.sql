-- The KV entry that orders the queues of a topic, at an instant.
-- columns: namesrv, namespace, key, value
-- reads: kv_history
SELECT namesrv, namespace, `key`, `value`
FROM kv_history
WHERE
  namespace = 'ORDER_TOPIC_CONFIG' AND `key` = :topic AND valid_from <= :at
  AND (valid_to IS NULL OR valid_to > :at)
ORDER BY namesrv

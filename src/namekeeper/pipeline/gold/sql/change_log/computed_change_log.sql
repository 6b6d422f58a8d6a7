-- Within the recompute ranges: changes, and who requested them; also in time that is otherwise unknown.
-- columns: day, at_ts, ts, namesrv, boot, seq, cause, peer, kind, action, cluster, broker_name, broker_addr, topic,
--   items, detail, window_ms
-- reads: broker_live, broker_name_removed, config, filter_servers, kv, position, server, topic_mapping, topic_row
-- kept: several views read it
WITH recorded_change AS (
  SELECT
    namesrv, boot, seq, cause, peer, 'broker_live' AS kind,
    CASE WHEN gone THEN reason WHEN new THEN 'registered' ELSE 'changed' END AS action,
    cluster, broker_name, broker_addr, CAST(NULL AS STRING) AS topic, 1 AS items,
    CASE
      WHEN gone THEN concat(
        'id ', CAST(broker_id AS STRING), ', silent for ', CAST(idle_ms AS STRING), ' ms',
        coalesce(concat(', connection closed: ', closed_by), '')
      )
      ELSE concat('id ', CAST(broker_id AS STRING))
    END AS detail,
    window_ms
  FROM broker_live
  WHERE checkpoint IS NULL
  UNION ALL
  SELECT
    namesrv, boot, seq, min(cause), min(peer), 'topic_queues',
    CASE WHEN max(CASE WHEN gone THEN 0 ELSE 1 END) = 0 THEN 'gone' ELSE 'changed' END,
    CAST(NULL AS STRING), broker_name, CAST(NULL AS STRING),
    CASE WHEN count(*) = 1 THEN min(topic) END,
    CAST(count(*) AS INT),
    CASE
      WHEN count(*) = 1 AND NOT min(gone) THEN concat(
        'read ', CAST(min(read_queue_nums) AS STRING), ', write ', CAST(min(write_queue_nums) AS STRING),
        ', perm ', CAST(min(perm) AS STRING)
      )
    END,
    min(window_ms)
  FROM topic_row
  WHERE checkpoint IS NULL
  GROUP BY namesrv, boot, seq, broker_name
  UNION ALL
  SELECT
    namesrv, boot, seq, cause, peer, 'broker_name_removed', 'gone', CAST(NULL AS STRING), broker_name,
    CAST(NULL AS STRING), CAST(NULL AS STRING), 1, CAST(NULL AS STRING), window_ms
  FROM broker_name_removed
  WHERE checkpoint IS NULL
  UNION ALL
  SELECT
    namesrv, boot, seq, cause, peer, 'topic_mapping', CASE WHEN gone THEN 'gone' ELSE 'changed' END,
    CAST(NULL AS STRING), broker_name, CAST(NULL AS STRING), topic, 1, mapping, window_ms
  FROM topic_mapping
  WHERE checkpoint IS NULL
  UNION ALL
  SELECT
    namesrv, boot, seq, cause, peer, 'filter_servers', CASE WHEN gone THEN 'gone' ELSE 'changed' END,
    cluster, CAST(NULL AS STRING), broker_addr, CAST(NULL AS STRING), 1, CAST(NULL AS STRING),
    window_ms
  FROM filter_servers
  WHERE checkpoint IS NULL
  UNION ALL
  SELECT
    namesrv, boot, seq, cause, peer, 'kv', CASE WHEN gone THEN 'gone' ELSE 'changed' END,
    CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING),
    CASE WHEN namespace = 'ORDER_TOPIC_CONFIG' THEN `key` END, 1,
    CASE WHEN gone THEN concat(namespace, ' ', `key`) ELSE concat(namespace, ' ', `key`, ' = ', value) END,
    window_ms
  FROM kv
  WHERE checkpoint IS NULL
  UNION ALL
  SELECT
    namesrv, boot, seq, min(cause), min(peer), 'config', 'changed',
    CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING),
    CAST(count(*) AS INT),
    CASE WHEN count(*) = 1 THEN min(concat(property, ' = ', value)) END,
    min(window_ms)
  FROM config
  WHERE checkpoint IS NULL
  GROUP BY namesrv, boot, seq
  UNION ALL
  SELECT
    namesrv, boot, seq, cause, peer, 'server',
    CASE kind WHEN 'server_started' THEN 'started' WHEN 'server_stopped' THEN 'stopped' ELSE kind END,
    CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING), 1,
    CASE
      WHEN kind = 'server_started' THEN concat('version ', server_version)
      WHEN kind = 'clock_changed' THEN concat('clock set by ', CAST(step_ms AS STRING), ' ms')
    END,
    window_ms
  FROM server
  WHERE kind IN ('server_started', 'server_stopped', 'clock_changed')
)
SELECT
  day_of(p.eff_ts, :zone) AS day, p.eff_ts AS at_ts, p.ts, s.namesrv, s.boot, s.seq, s.cause, s.peer, s.kind,
  s.action, s.cluster, s.broker_name, s.broker_addr, s.topic, s.items, s.detail, s.window_ms
FROM recorded_change s
JOIN position p ON p.namesrv = s.namesrv AND p.boot = s.boot AND p.position = s.seq AND p.kind <> 'loss'

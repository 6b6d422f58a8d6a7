-- The evidence that a fact is unchanged in the recompute ranges. For each fact of a history: its rows, see content;
-- those outside of checkpoints have checkpoint null. For `server` and `broker_name_removed`: rows that say more than
-- that the server runs. For `lost_records`: losses that an earlier run found. For up, unknown and stopped: the
-- positions at which this state begins.
-- columns: fact, namesrv, boot, checkpoint, rows, content
-- reads: boundary, broker_group_recorded, broker_live, broker_name_removed, cluster_row, config, filter_servers, kv,
--   old_lost_records, recompute_range, server, topic_mapping, topic_row
-- collected: it says which tables an earlier run has already made
-- include: content
--   fact: broker_live
--   rows: broker_live
--   compared: {compared of broker_live as f}
UNION ALL
-- include: content
--   fact: broker_group
--   rows: broker_group_recorded
--   compared: {compared of broker_group as f}
UNION ALL
-- include: content
--   fact: cluster_row
--   rows: cluster_row
--   compared: {compared of cluster_row as f}
UNION ALL
-- include: content
--   fact: topic_row
--   rows: topic_row
--   compared: {compared of topic_row as f}
UNION ALL
-- include: content
--   fact: topic_mapping
--   rows: topic_mapping
--   compared: {compared of topic_mapping as f}
UNION ALL
-- include: content
--   fact: filter_servers
--   rows: filter_servers
--   compared: {compared of filter_servers as f}
UNION ALL
-- include: content
--   fact: kv
--   rows: kv
--   compared: {compared of kv as f}
UNION ALL
-- include: content
--   fact: config
--   rows: config
--   compared: {compared of config as f}
UNION ALL
SELECT 'server', f.namesrv, f.boot, CAST(NULL AS BIGINT), count(*), 0
FROM server f
JOIN recompute_range w
  ON
    -- include: in_recompute_range
    --   row: f
    --   position: place
WHERE f.kind <> 'server_alive'
GROUP BY f.namesrv, f.boot
UNION ALL
SELECT 'broker_name_removed', f.namesrv, f.boot, CAST(NULL AS BIGINT), count(*), 0
FROM broker_name_removed f
JOIN recompute_range w
  ON
    -- include: in_recompute_range
    --   row: f
    --   position: place
GROUP BY f.namesrv, f.boot
UNION ALL
SELECT 'lost_records', f.namesrv, f.boot, CAST(NULL AS BIGINT), count(*), 0
FROM old_lost_records f
JOIN recompute_range w
  ON
    -- include: in_recompute_range
    --   row: f
    --   position: first_seq
GROUP BY f.namesrv, f.boot
UNION ALL
SELECT state, namesrv, boot, position, 1, 0
FROM boundary
WHERE NOT is_range_end

-- Equal changes in a slice of time: one cause, requested by one host, about one broker name. Each slice gives
-- some rows of every cause before further rows of any cause. Slices come newest first; within a slice, the
-- earliest change is first. Topics are named if there are not too many records.
-- columns: slice, slice_groups, slice_items, cause_items, cause, host, broker_name, first_ts, last_ts, records, items,
--   unnamed, name_servers, clusters, details, topics, window_ms
-- reads: change_log, name_server_label_daily
WITH recorded AS (
  SELECT
    at_ts - (at_ts + :offset_ms) % :slice_ms AS slice, coalesce(cause, action) AS cause,
    coalesce(left(peer, length(peer) - instr(reverse(peer), ':')), '') AS host,
    coalesce(broker_name, '') AS broker_name, at_ts, items, namesrv, cluster, topic,
    CASE WHEN kind = 'topic_queues' THEN items ELSE 0 END AS topic_items,
    CASE WHEN kind = 'topic_queues' AND topic IS NULL THEN items ELSE 0 END AS unnamed,
    CASE WHEN kind = 'broker_live' THEN regexp_replace(detail, ', silent for .*', '') ELSE detail END AS detail,
    window_ms
  FROM change_log
  WHERE (:first_day IS NULL OR day >= :first_day) AND (:last_day IS NULL OR day <= :last_day)
    AND (:label IS NULL OR namesrv IN (SELECT namesrv FROM name_server_label_daily WHERE cluster_label = :label))
),
grouped AS (
  SELECT
    slice, cause, host, broker_name, min(at_ts) AS first_ts, max(at_ts) AS last_ts, count(*) AS records,
    sum(items) AS items, sum(topic_items) AS topic_items, sum(unnamed) AS unnamed,
    sort_array(collect_set(namesrv)) AS name_servers, sort_array(collect_set(cluster)) AS clusters,
    sort_array(collect_set(detail)) AS details, max(window_ms) AS window_ms
  FROM recorded
  GROUP BY slice, cause, host, broker_name
),
ranked AS (
  SELECT
    grouped.*,
    count(*) OVER (PARTITION BY slice) AS slice_groups,
    sum(items) OVER (PARTITION BY slice) AS slice_items,
    sum(items) OVER (PARTITION BY slice, cause) AS cause_items,
    row_number() OVER (PARTITION BY slice, cause ORDER BY first_ts, broker_name, host) AS of_cause
  FROM grouped
),
numbered AS (
  SELECT
    ranked.*,
    row_number() OVER (PARTITION BY slice ORDER BY of_cause, first_ts, cause, broker_name, host) AS choice
  FROM ranked
),
chosen AS (
  SELECT * FROM numbered WHERE choice <= :per_slice
),
topics_of AS (
  SELECT r.slice, r.cause, r.host, r.broker_name, sort_array(collect_set(r.topic)) AS topics
  FROM recorded r
  JOIN chosen c ON c.slice = r.slice AND c.cause = r.cause AND c.host = r.host AND c.broker_name = r.broker_name
  WHERE r.topic IS NOT NULL AND c.records <= :named_records
  GROUP BY r.slice, r.cause, r.host, r.broker_name
)
SELECT
  c.slice, c.slice_groups, c.slice_items, c.cause_items, c.cause, nullif(c.host, '') AS host,
  nullif(c.broker_name, '') AS broker_name, c.first_ts, c.last_ts, c.records, c.items,
  CASE WHEN c.records <= :named_records THEN c.unnamed ELSE c.topic_items END AS unnamed,
  c.name_servers, c.clusters, c.details, t.topics, c.window_ms
FROM chosen c
LEFT JOIN topics_of t ON t.slice = c.slice AND t.cause = c.cause AND t.host = c.host AND t.broker_name = c.broker_name
ORDER BY c.slice DESC, c.first_ts, c.cause, c.broker_name, c.host

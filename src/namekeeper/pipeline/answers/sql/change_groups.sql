-- Equal changes in a slice of time: one cause, asked for from one host, about one broker name. Of each slice some rows
-- of each cause are taken before more of another; slices come newest first, and in them what began first.
-- columns: slice, slice_groups, slice_items, cause_items, cause, host, broker_name, first_ts, last_ts, records, items,
--   name_servers, clusters, topics, unnamed, details
-- reads: change_log
WITH recorded AS (
  SELECT
    at_ts - (at_ts + :offset_ms) % :slice_ms AS slice, coalesce(cause, action) AS cause,
    regexp_replace(peer, ':[0-9]+$', '') AS host, broker_name, at_ts, items, namesrv, cluster, topic,
    CASE WHEN kind = 'topic_queues' AND topic IS NULL THEN items ELSE 0 END AS unnamed,
    regexp_replace(detail, ', silent for .*', '') AS detail
  FROM change_log
  WHERE (:first_day IS NULL OR day >= :first_day) AND (:last_day IS NULL OR day <= :last_day)
),
grouped AS (
  SELECT
    slice, cause, host, broker_name, min(at_ts) AS first_ts, max(at_ts) AS last_ts, count(*) AS records,
    sum(items) AS items, sort_array(collect_set(namesrv)) AS name_servers,
    sort_array(collect_set(cluster)) AS clusters, sort_array(collect_set(topic)) AS topics,
    sum(unnamed) AS unnamed, sort_array(collect_set(detail)) AS details
  FROM recorded
  GROUP BY slice, cause, host, broker_name
),
ranked AS (
  SELECT
    grouped.*,
    count(*) OVER (PARTITION BY slice) AS slice_groups,
    sum(items) OVER (PARTITION BY slice) AS slice_items,
    sum(items) OVER (PARTITION BY slice, cause) AS cause_items,
    row_number() OVER (
      PARTITION BY slice, cause ORDER BY first_ts, broker_name NULLS FIRST, host NULLS FIRST
    ) AS of_cause
  FROM grouped
),
chosen AS (
  SELECT
    ranked.*,
    row_number() OVER (
      PARTITION BY slice ORDER BY of_cause, first_ts, cause, broker_name NULLS FIRST, host NULLS FIRST
    ) AS choice
  FROM ranked
)
SELECT
  slice, slice_groups, slice_items, cause_items, cause, host, broker_name, first_ts, last_ts, records, items,
  name_servers, clusters, topics, unnamed, details
FROM chosen
WHERE choice <= :per_slice
ORDER BY slice DESC, first_ts, cause, broker_name NULLS FIRST, host NULLS FIRST

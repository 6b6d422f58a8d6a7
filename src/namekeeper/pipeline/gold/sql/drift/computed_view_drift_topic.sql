-- When name servers of one cluster that had a broker name registered disagreed about one of its topics, on
-- corrected time.
-- columns: cluster_label, cluster, broker_name, topic, views, valid_from, valid_to, from_namesrv, from_ts,
--   from_window_ms, to_namesrv, to_ts, to_window_ms, is_open
-- reads: cluster_of_broker_name, name_server_clock_daily, namesrv_cluster, namesrv_label, observed_topic,
--   registered_broker_name
WITH corrected_witness AS (
  SELECT
    h.namesrv, c.cluster, h.broker_name, h.is_open,
    -- include: corrected_times
    --   row: h
  FROM registered_broker_name h
  JOIN namesrv_label l ON l.namesrv = h.namesrv
  JOIN cluster_of_broker_name c ON c.broker_name = h.broker_name AND c.cluster_label = l.cluster_label
  -- include: clock_of_period
  --   row: h
),
-- include: witness_in_cluster,
--   rows: corrected_witness
--   columns: w.cluster, w.broker_name
compared_broker_name AS (
  SELECT namesrv_cluster, cluster_label, cluster, broker_name
  FROM witness
  GROUP BY namesrv_cluster, cluster_label, cluster, broker_name
  HAVING count(DISTINCT namesrv) > 1
),
compared_topic AS (
  SELECT c.namesrv_cluster, c.cluster_label, v.*
  FROM observed_topic v
  JOIN (SELECT DISTINCT namesrv, namesrv_cluster, cluster_label FROM namesrv_cluster) AS k ON k.namesrv = v.namesrv
  JOIN compared_broker_name c
    ON c.namesrv_cluster = k.namesrv_cluster AND c.cluster_label = k.cluster_label AND c.cluster = v.cluster
    AND c.broker_name = v.broker_name
),
known_topic AS (
  SELECT DISTINCT namesrv_cluster, cluster_label, cluster, broker_name, topic FROM compared_topic
),
-- For most topics all witnesses always see the same: these need no comparison.
disputed_topic AS (
  SELECT t.namesrv_cluster, t.cluster_label, t.cluster, t.broker_name, t.topic
  FROM known_topic t
  JOIN witness w
    ON w.namesrv_cluster = t.namesrv_cluster AND w.cluster_label = t.cluster_label AND w.cluster = t.cluster
    AND w.broker_name = t.broker_name
  LEFT JOIN compared_topic v
    ON v.namesrv = w.namesrv AND v.namesrv_cluster = t.namesrv_cluster AND v.cluster_label = t.cluster_label
    AND v.cluster = t.cluster AND v.broker_name = t.broker_name AND v.topic = t.topic
    AND v.valid_from <= w.valid_from AND v.valid_to >= w.valid_to
  GROUP BY t.namesrv_cluster, t.cluster_label, t.cluster, t.broker_name, t.topic
  HAVING count(v.topic) < count(*) OR min(v.seen) <> max(v.seen)
),
observed_disputed_topic AS (
  SELECT v.*
  FROM compared_topic v
  JOIN disputed_topic t
    ON t.namesrv_cluster = v.namesrv_cluster AND t.cluster_label = v.cluster_label AND t.cluster = v.cluster
    AND t.broker_name = v.broker_name AND t.topic = v.topic
),
topic_witness AS (
  SELECT t.topic, w.*
  FROM witness w
  JOIN disputed_topic t
    ON t.namesrv_cluster = w.namesrv_cluster AND t.cluster_label = w.cluster_label AND t.cluster = w.cluster
    AND t.broker_name = w.broker_name
),
-- include: disagreement
--   key: namesrv_cluster, cluster_label, cluster, broker_name, topic
--   named: nullif(cluster_label, '') AS cluster_label, cluster, broker_name, topic
--   p_key: p.namesrv_cluster, p.cluster_label, p.cluster, p.broker_name, p.topic
--   same_as_w: w.namesrv_cluster = p.namesrv_cluster AND w.cluster_label = p.cluster_label
--     AND w.cluster = p.cluster AND w.broker_name = p.broker_name AND w.topic = p.topic
--   same_as_o: o.cluster = p.cluster AND o.broker_name = p.broker_name AND o.topic = p.topic
--   observed: observed_disputed_topic
--   witness: topic_witness
--   subject: disputed_topic
--   absent: 'absent'
--   views: sort_array(array_agg(concat(namesrv, ': ', seen))) AS views

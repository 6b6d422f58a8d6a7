-- When witnesses of one cluster of name servers disagreed about whether a broker is there, on corrected time.
-- columns: cluster_label, cluster, broker_name, broker_id, broker_addr, held_by, missing_at, valid_from, valid_to,
--   from_namesrv, from_ts, from_window_ms, to_namesrv, to_ts, to_window_ms, is_open
-- reads: broker_witness, name_server_clock_daily, namesrv_cluster, registered_broker
WITH observed_broker AS (
  SELECT
    h.namesrv, k.namesrv_cluster, k.cluster_label, h.cluster, h.broker_name, h.broker_id, h.broker_addr, 1 AS seen,
    h.from_window_ms, h.to_window_ms,
    -- include: corrected_times
    --   row: h
  FROM registered_broker h
  JOIN namesrv_cluster k ON k.namesrv = h.namesrv
  -- include: clock_of_period
  --   row: h
),
broker AS (
  SELECT DISTINCT namesrv_cluster, cluster_label, cluster, broker_name, broker_id, broker_addr FROM observed_broker
),
corrected_witness AS (
  SELECT
    w.namesrv, b.cluster, b.broker_name, b.broker_id, b.broker_addr, w.is_open,
    -- include: corrected_times
    --   row: w
  FROM broker_witness w
  JOIN (SELECT DISTINCT cluster, broker_name, broker_id, broker_addr FROM broker) AS b
    ON b.cluster = w.cluster AND b.broker_name = w.broker_name AND b.broker_id = w.broker_id
  -- include: clock_of_period
  --   row: w
),
-- include: witness_in_cluster,
--   rows: corrected_witness
--   columns: w.cluster, w.broker_name, w.broker_id, w.broker_addr
-- include: disagreement
--   key: namesrv_cluster, cluster_label, cluster, broker_name, broker_id, broker_addr
--   named: nullif(cluster_label, '') AS cluster_label, cluster, broker_name, broker_id, broker_addr
--   p_key: p.namesrv_cluster, p.cluster_label, p.cluster, p.broker_name, p.broker_id, p.broker_addr
--   same_as_w: w.namesrv_cluster = p.namesrv_cluster AND w.cluster_label = p.cluster_label
--     AND w.cluster = p.cluster AND w.broker_name = p.broker_name AND w.broker_id = p.broker_id
--     AND w.broker_addr = p.broker_addr
--   same_as_o: o.cluster = p.cluster AND o.broker_name = p.broker_name AND o.broker_id = p.broker_id
--     AND o.broker_addr = p.broker_addr
--   observed: observed_broker
--   witness: witness
--   subject: broker
--   absent: 0
--   views: sort_array(array_agg(namesrv) FILTER (WHERE seen = 1)) AS held_by,
--     sort_array(array_agg(namesrv) FILTER (WHERE seen = 0)) AS missing_at

-- The states of each topic with their time ranges, as seen by the witness with the best view: writable, if a
-- master has a queue of it that can be written to; unwritable; no_route; unknown without a witness. A deleted
-- topic is not expected any more; one whose brokers went is still expected for a while. If an observer recorded the
-- end of a state, the next one may have begun from uncertain_from on. Nobody writes to the topic by which the members
-- of a broker name know each other: it has no state.
-- columns: cluster_label, cluster, topic, valid_from, valid_to, state, uncertain_from
-- reads: horizon, registered_topic, topic_witness, topic_writable
-- kept: several views read it
WITH count_change AS (
  SELECT cluster_label, cluster, topic, valid_from AS at_ts, 1 AS writable, 0 AS routed, 0 AS witness, 0 AS expected,
    from_window_ms AS window_ms
  FROM topic_writable
  UNION ALL
  SELECT cluster_label, cluster, topic, valid_to, -1, 0, 0, 0, to_window_ms FROM topic_writable
  UNION ALL
  SELECT cluster_label, cluster, topic, valid_from, 0, 1, 0, 1, from_window_ms FROM registered_topic
  UNION ALL
  SELECT cluster_label, cluster, topic, valid_to, 0, -1, 0, 0, to_window_ms FROM registered_topic
  UNION ALL
  SELECT
    h.cluster_label, h.cluster, h.topic,
    CASE
      WHEN h.ended_by IN ('gone', 'changed') AND h.reason IS NULL THEN h.valid_to
      ELSE least(h.valid_to + :memory_ms, k.up_to)
    END,
    0, 0, 0, -1, NULL
  FROM registered_topic h
  JOIN horizon k ON k.namesrv = h.namesrv
  UNION ALL
  SELECT cluster_label, cluster, topic, valid_from, 0, 0, 1, 0, NULL FROM topic_witness
  UNION ALL
  SELECT cluster_label, cluster, topic, valid_to, 0, 0, -1, 0, NULL FROM topic_witness
),
-- include: running_counts,
--   key: cluster_label, cluster, topic
--   sums: sum(writable) AS writable, sum(routed) AS routed, sum(witness) AS witness, sum(expected) AS expected,
--     max(window_ms) AS window_ms
--   running: sum(writable) OVER w AS writable, sum(routed) OVER w AS routed, sum(witness) OVER w AS witness,
--     sum(expected) OVER w AS expected,
--     lead(window_ms) OVER (PARTITION BY cluster_label, cluster, topic ORDER BY at_ts) AS next_window_ms
state_period AS (
  SELECT
    cluster_label, cluster, topic, at_ts AS valid_from, until AS valid_to, next_window_ms, expected,
    CASE
      WHEN writable > 0 THEN 'writable'
      WHEN routed > 0 THEN 'unwritable'
      WHEN witness > 0 THEN 'no_route'
      ELSE 'unknown'
    END AS state
  FROM running_count
),
state_in_order AS (
  SELECT
    p.*,
    lead(state) OVER w AS next_state,
    CASE WHEN lag(state) OVER w IS DISTINCT FROM state THEN valid_from END AS began_here
  FROM state_period p
  WINDOW w AS (PARTITION BY cluster_label, cluster, topic ORDER BY valid_from)
),
state_since AS (
  SELECT
    o.*,
    max(began_here) OVER (
      PARTITION BY cluster_label, cluster, topic ORDER BY valid_from ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS began_at
  FROM state_in_order o
)
SELECT
  cluster_label, cluster, topic, valid_from, valid_to, state,
  CASE
    WHEN next_window_ms > 0 AND next_state <> state AND state <> 'unknown'
      THEN greatest(began_at, valid_to - next_window_ms)
  END AS uncertain_from
FROM state_since
WHERE expected > 0 AND valid_to IS NOT NULL AND left(topic, 27) <> 'rmq_sys_SYNC_BROKER_MEMBER_'

-- The states of each topic with their time ranges, as seen by the witness with the best view: writable, if a
-- master has a queue of it that can be written to; unwritable; no_route; unknown without a witness. A deleted
-- topic is not expected any more; one whose brokers went is still expected for a while.
-- columns: cluster, topic, valid_from, valid_to, state
-- reads: cluster_witness, horizon, registered_broker, registered_topic
-- kept: several views read it
WITH topic AS (
  SELECT DISTINCT cluster, topic FROM registered_topic
),
writable AS (
  SELECT
    t.cluster, t.topic,
    greatest(t.valid_from, h.valid_from) AS valid_from,
    least(t.valid_to, h.valid_to) AS valid_to
  FROM registered_topic t
  JOIN registered_broker h
    ON h.namesrv = t.namesrv AND h.broker_name = t.broker_name AND h.broker_id = 0
    AND h.valid_from < t.valid_to AND h.valid_to > t.valid_from
  WHERE t.perm & 2 <> 0 AND t.write_queue_nums > 0
),
first_registration AS (
  SELECT namesrv, boot, cluster, topic, min(valid_from) AS first_registration
  FROM registered_topic
  GROUP BY namesrv, boot, cluster, topic
),
witness AS (
  SELECT
    w.cluster, t.topic,
    -- include: witness_from
    --   first: f.first_registration
    AS valid_from,
    w.valid_to
  FROM cluster_witness w
  JOIN topic t ON t.cluster = w.cluster
  LEFT JOIN first_registration f
    ON f.namesrv = w.namesrv AND f.boot = w.boot AND f.cluster = w.cluster AND f.topic = t.topic
),
count_change AS (
  SELECT cluster, topic, valid_from AS at_ts, 1 AS writable, 0 AS routed, 0 AS witness, 0 AS expected FROM writable
  UNION ALL
  SELECT cluster, topic, valid_to, -1, 0, 0, 0 FROM writable
  UNION ALL
  SELECT cluster, topic, valid_from, 0, 1, 0, 1 FROM registered_topic
  UNION ALL
  SELECT cluster, topic, valid_to, 0, -1, 0, 0 FROM registered_topic
  UNION ALL
  SELECT
    h.cluster, h.topic,
    CASE
      WHEN h.ended_by IN ('gone', 'changed') AND h.reason IS NULL THEN h.valid_to
      ELSE least(h.valid_to + :memory_ms, k.up_to)
    END,
    0, 0, 0, -1
  FROM registered_topic h
  CROSS JOIN horizon k
  UNION ALL
  SELECT cluster, topic, valid_from, 0, 0, 1, 0 FROM witness WHERE valid_from < valid_to
  UNION ALL
  SELECT cluster, topic, valid_to, 0, 0, -1, 0 FROM witness WHERE valid_from < valid_to
),
-- include: running_counts
--   key: cluster, topic
--   sums: sum(writable) AS writable, sum(routed) AS routed, sum(witness) AS witness, sum(expected) AS expected
--   running: sum(writable) OVER w AS writable, sum(routed) OVER w AS routed, sum(witness) OVER w AS witness,
--     sum(expected) OVER w AS expected
SELECT
  cluster, topic, at_ts AS valid_from, until AS valid_to,
  CASE
    WHEN writable > 0 THEN 'writable'
    WHEN routed > 0 THEN 'unwritable'
    WHEN witness > 0 THEN 'no_route'
    ELSE 'unknown'
  END AS state
FROM running_count
WHERE expected > 0 AND until IS NOT NULL

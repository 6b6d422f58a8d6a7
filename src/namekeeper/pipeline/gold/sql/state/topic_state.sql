-- The states of each topic with their time ranges, as seen by the witness with the best view: writable, if a
-- master has a queue of it that can be written to; unwritable; no_route; unknown without a witness. A deleted
-- topic is not expected any more; one whose brokers went is still expected for a while.
-- columns: cluster, topic, valid_from, valid_to, state
-- reads: horizon, registered_topic, topic_witness, topic_writable
-- kept: several views read it
WITH count_change AS (
  SELECT cluster, topic, valid_from AS at_ts, 1 AS writable, 0 AS routed, 0 AS witness, 0 AS expected
  FROM topic_writable
  UNION ALL
  SELECT cluster, topic, valid_to, -1, 0, 0, 0 FROM topic_writable
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
  SELECT cluster, topic, valid_from, 0, 0, 1, 0 FROM topic_witness
  UNION ALL
  SELECT cluster, topic, valid_to, 0, 0, -1, 0 FROM topic_witness
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

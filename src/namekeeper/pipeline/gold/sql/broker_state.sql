-- What is known of each broker from when to when: up, if any witness holds it; down, if none of them does;
-- unknown without a witness. A broker that nobody has held for long is not expected any more.
WITH step AS (
  SELECT cluster, broker_name, broker_id, valid_from AS at_ts, 1 AS held, 0 AS witness, 0 AS expected FROM held_broker
  UNION ALL
  SELECT cluster, broker_name, broker_id, valid_to, -1, 0, 0 FROM held_broker
  UNION ALL
  SELECT cluster, broker_name, broker_id, valid_from, 0, 1, 0 FROM broker_witness
  UNION ALL
  SELECT cluster, broker_name, broker_id, valid_to, 0, -1, 0 FROM broker_witness
  UNION ALL
  SELECT cluster, broker_name, broker_id, valid_from, 0, 0, 1 FROM held_broker
  UNION ALL
  SELECT h.cluster, h.broker_name, h.broker_id, least(h.valid_to + :memory_ms, k.up_to), 0, 0, -1
  FROM held_broker h
  CROSS JOIN horizon k
),
instant AS (
  SELECT cluster, broker_name, broker_id, at_ts, sum(held) AS held, sum(witness) AS witness, sum(expected) AS expected
  FROM step
  GROUP BY cluster, broker_name, broker_id, at_ts
),
running AS (
  SELECT
    cluster, broker_name, broker_id, at_ts,
    lead(at_ts) OVER (PARTITION BY cluster, broker_name, broker_id ORDER BY at_ts) AS until,
    sum(held) OVER w AS held, sum(witness) OVER w AS witness, sum(expected) OVER w AS expected
  FROM instant
  WINDOW w AS (
    PARTITION BY cluster, broker_name, broker_id ORDER BY at_ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
  )
),
stated AS (
  SELECT
    cluster, broker_name, broker_id, at_ts AS valid_from, until AS valid_to, witness,
    CASE WHEN held > 0 THEN 'up' WHEN witness > 0 THEN 'down' ELSE 'unknown' END AS state
  FROM running
  WHERE expected > 0 AND until IS NOT NULL
),
marked AS (
  SELECT
    s.*,
    CASE WHEN lag(valid_to) OVER w = valid_from AND lag(state) OVER w = state THEN 0 ELSE 1 END AS is_first
  FROM stated s
  WINDOW w AS (PARTITION BY cluster, broker_name, broker_id ORDER BY valid_from)
),
numbered AS (
  SELECT
    m.*,
    sum(is_first) OVER (
      PARTITION BY cluster, broker_name, broker_id ORDER BY valid_from
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS island
  FROM marked m
)
SELECT
  cluster, broker_name, broker_id, state, min(valid_from) AS valid_from, max(valid_to) AS valid_to,
  max(witness) AS witnesses
FROM numbered
GROUP BY cluster, broker_name, broker_id, state, island

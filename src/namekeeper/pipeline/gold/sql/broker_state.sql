-- What is known of each broker from when to when: up, if any witness holds it; down, if none of them does;
-- unknown without a witness. A broker that nobody has held for long is not expected any more.
WITH count_change AS (
  SELECT
    cluster, broker_name, broker_id, valid_from AS at_ts, 1 AS registrations, 0 AS witnesses, 0 AS expecting
  FROM registered_broker
  UNION ALL
  SELECT cluster, broker_name, broker_id, valid_to, -1, 0, 0 FROM registered_broker
  UNION ALL
  SELECT cluster, broker_name, broker_id, valid_from, 0, 1, 0 FROM broker_witness
  UNION ALL
  SELECT cluster, broker_name, broker_id, valid_to, 0, -1, 0 FROM broker_witness
  UNION ALL
  SELECT cluster, broker_name, broker_id, valid_from, 0, 0, 1 FROM registered_broker
  UNION ALL
  SELECT h.cluster, h.broker_name, h.broker_id, least(h.valid_to + :memory_ms, k.up_to), 0, 0, -1
  FROM registered_broker h
  CROSS JOIN horizon k
),
change_time AS (
  SELECT
    cluster, broker_name, broker_id, at_ts, sum(registrations) AS registrations, sum(witnesses) AS witnesses,
    sum(expecting) AS expecting
  FROM count_change
  GROUP BY cluster, broker_name, broker_id, at_ts
),
running_count AS (
  SELECT
    cluster, broker_name, broker_id, at_ts,
    lead(at_ts) OVER (PARTITION BY cluster, broker_name, broker_id ORDER BY at_ts) AS until,
    sum(registrations) OVER w AS registrations, sum(witnesses) OVER w AS witnesses, sum(expecting) OVER w AS expecting
  FROM change_time
  WINDOW w AS (
    PARTITION BY cluster, broker_name, broker_id ORDER BY at_ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
  )
),
state_period AS (
  SELECT
    cluster, broker_name, broker_id, at_ts AS valid_from, until AS valid_to, witnesses,
    CASE WHEN registrations > 0 THEN 'up' WHEN witnesses > 0 THEN 'down' ELSE 'unknown' END AS state
  FROM running_count
  WHERE expecting > 0 AND until IS NOT NULL
),
marked AS (
  SELECT
    s.*,
    CASE WHEN lag(valid_to) OVER w = valid_from AND lag(state) OVER w = state THEN 0 ELSE 1 END AS is_first
  FROM state_period s
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
  max(witnesses) AS witnesses
FROM numbered
GROUP BY cluster, broker_name, broker_id, state, island

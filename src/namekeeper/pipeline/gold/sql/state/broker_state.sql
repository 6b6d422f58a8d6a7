-- The states of each broker with their time ranges: up, if any witness has it registered; down, if there are
-- witnesses and none has; unregistered instead of down, if it unregistered itself where it was registered
-- last; unknown without a witness. A broker that has not been registered anywhere for long is not expected
-- any more. A state has a row for each number of witnesses; all have the time at which the state began.
-- columns: cluster, broker_name, broker_id, state, valid_from, valid_to, witnesses, began_at
-- reads: broker_witness, horizon, registered_broker
-- kept: several views read it
WITH count_change AS (
  SELECT
    cluster, broker_name, broker_id, valid_from AS at_ts, 1 AS registrations, 0 AS witnesses, 0 AS expecting,
    -- The end of a registration; the last bit tells whether the broker unregistered.
    CAST(0 AS BIGINT) AS ended
  FROM registered_broker
  UNION ALL
  SELECT
    cluster, broker_name, broker_id, valid_to, -1, 0, 0, 2 * valid_to + CASE WHEN has_unregistered THEN 1 ELSE 0 END
  FROM registered_broker
  UNION ALL
  SELECT cluster, broker_name, broker_id, valid_from, 0, 1, 0, 0 FROM broker_witness
  UNION ALL
  SELECT cluster, broker_name, broker_id, valid_to, 0, -1, 0, 0 FROM broker_witness
  UNION ALL
  SELECT cluster, broker_name, broker_id, valid_from, 0, 0, 1, 0 FROM registered_broker
  UNION ALL
  SELECT h.cluster, h.broker_name, h.broker_id, least(h.valid_to + :memory_ms, k.up_to), 0, 0, -1, 0
  FROM registered_broker h
  CROSS JOIN horizon k
),
-- include: running_counts,
--   key: cluster, broker_name, broker_id
--   sums: sum(registrations) AS registrations, sum(witnesses) AS witnesses, sum(expecting) AS expecting,
--     max(ended) AS ended
--   running: sum(registrations) OVER w AS registrations, sum(witnesses) OVER w AS witnesses,
--     sum(expecting) OVER w AS expecting, max(ended) OVER w AS ended
state_period AS (
  SELECT
    cluster, broker_name, broker_id, at_ts AS valid_from, until AS valid_to, witnesses,
    CASE
      WHEN registrations > 0 THEN 'up'
      WHEN witnesses = 0 THEN 'unknown'
      WHEN ended % 2 = 1 THEN 'unregistered'
      ELSE 'down'
    END AS state
  FROM running_count
  WHERE expecting > 0 AND until IS NOT NULL
),
-- include: islands
--   named: island
--   rows: state_period
--   key: cluster, broker_name, broker_id
--   order: valid_from
--   continues: lag(valid_to) OVER w = valid_from AND lag(state) OVER w = state
SELECT
  cluster, broker_name, broker_id, state, valid_from, valid_to, witnesses,
  min(valid_from) OVER (PARTITION BY cluster, broker_name, broker_id, island) AS began_at
FROM island

-- The states of each broker with their time ranges. A broker is up if any witness has it registered, and down if
-- there are witnesses and none has. It is unregistered instead of down if it unregistered itself where it was
-- registered last, and unknown without a witness. A broker that has not been registered anywhere for long is not
-- expected any more. A state has a row for each number of witnesses; all have the time at which the state began, and
-- that from which the next one may have begun: the window of the record that ended the state.
-- columns: cluster_label, cluster, broker_name, broker_id, state, valid_from, valid_to, witnesses, began_at,
--   uncertain_from
-- reads: broker_witness, horizon, registered_broker
-- kept: several views read it
WITH change_at AS (
  SELECT
    namesrv, cluster, broker_name, broker_id, valid_from AS at_ts, 1 AS registrations, 0 AS witnesses, 0 AS expecting,
    -- The end of a registration; the last bit tells whether the broker unregistered.
    CAST(0 AS BIGINT) AS ended, from_window_ms AS window_ms
  FROM registered_broker
  UNION ALL
  SELECT
    namesrv, cluster, broker_name, broker_id, valid_to, -1, 0, 0,
    2 * valid_to + CASE WHEN has_unregistered THEN 1 ELSE 0 END,
    to_window_ms
  FROM registered_broker
  UNION ALL
  SELECT namesrv, cluster, broker_name, broker_id, valid_from, 0, 1, 0, 0, NULL FROM broker_witness
  UNION ALL
  SELECT namesrv, cluster, broker_name, broker_id, valid_to, 0, -1, 0, 0, NULL FROM broker_witness
  UNION ALL
  SELECT namesrv, cluster, broker_name, broker_id, valid_from, 0, 0, 1, 0, NULL FROM registered_broker
  UNION ALL
  SELECT namesrv, cluster, broker_name, broker_id, valid_to + :memory_ms, 0, 0, -1, 0, NULL FROM registered_broker
),
count_change AS (
  SELECT
    k.cluster_label, c.cluster, c.broker_name, c.broker_id, least(c.at_ts, k.up_to) AS at_ts, c.registrations,
    c.witnesses, c.expecting, c.ended, c.window_ms
  FROM change_at c
  JOIN horizon k ON k.namesrv = c.namesrv
),
-- include: running_counts,
--   key: cluster_label, cluster, broker_name, broker_id
--   sums: sum(registrations) AS registrations, sum(witnesses) AS witnesses, sum(expecting) AS expecting,
--     max(ended) AS ended, max(window_ms) AS window_ms
--   running: sum(registrations) OVER w AS registrations, sum(witnesses) OVER w AS witnesses,
--     sum(expecting) OVER w AS expecting, max(ended) OVER w AS ended,
--     lead(window_ms) OVER (
--       PARTITION BY cluster_label, cluster, broker_name, broker_id ORDER BY at_ts
--     ) AS next_window_ms
state_period AS (
  SELECT
    cluster_label, cluster, broker_name, broker_id, at_ts AS valid_from, until AS valid_to, witnesses, next_window_ms,
    CASE
      WHEN registrations > 0 THEN 'up'
      WHEN witnesses = 0 THEN 'unknown'
      WHEN ended % 2 = 1 THEN 'unregistered'
      ELSE 'down'
    END AS state
  FROM running_count
  WHERE expecting > 0 AND until IS NOT NULL
),
-- include: islands,
--   named: island
--   rows: state_period
--   key: cluster_label, cluster, broker_name, broker_id
--   order: valid_from
--   continues: lag(valid_to) OVER w = valid_from AND lag(state) OVER w = state
bounded_state AS (
  SELECT
    s.*, min(valid_from) OVER i AS began_at, max(valid_to) OVER i AS ended_at
  FROM island s
  WINDOW i AS (PARTITION BY cluster_label, cluster, broker_name, broker_id, island)
)
SELECT
  cluster_label, cluster, broker_name, broker_id, state, valid_from, valid_to, witnesses, began_at,
  max(
    CASE
      WHEN valid_to = ended_at AND next_window_ms > 0 AND state <> 'unknown'
        THEN greatest(began_at, valid_to - next_window_ms)
    END
  ) OVER (PARTITION BY cluster_label, cluster, broker_name, broker_id, island) AS uncertain_from
FROM bounded_state

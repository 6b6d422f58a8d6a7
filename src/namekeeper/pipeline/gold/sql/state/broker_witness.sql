-- When each name server was a witness for a broker: from the broker's first registration in this boot, or at
-- the latest from some time after the start.
-- columns: namesrv, cluster, broker_name, broker_id, is_open, valid_from, valid_to
-- reads: cluster_witness, registered_broker
-- kept: several views read it
WITH broker AS (
  SELECT DISTINCT cluster, broker_name, broker_id FROM registered_broker
),
first_registration AS (
  SELECT namesrv, boot, cluster, broker_name, broker_id, min(valid_from) AS first_registration
  FROM registered_broker
  GROUP BY namesrv, boot, cluster, broker_name, broker_id
),
witness AS (
  SELECT
    w.namesrv, w.cluster, b.broker_name, b.broker_id, w.is_open,
    -- include: witness_from
    --   first: f.first_registration
    AS valid_from,
    w.valid_to
  FROM cluster_witness w
  JOIN broker b ON b.cluster = w.cluster
  LEFT JOIN first_registration f
    ON f.namesrv = w.namesrv AND f.boot = w.boot AND f.cluster = b.cluster AND f.broker_name = b.broker_name
    AND f.broker_id = b.broker_id
)
SELECT * FROM witness WHERE valid_from < valid_to

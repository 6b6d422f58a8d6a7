-- When each name server was a witness for a broker: from the broker's first registration in this boot, or at
-- the latest from some time after the start.
-- columns: namesrv, cluster, broker_name, broker_id, is_open, valid_from, valid_to
-- reads: cluster_witness, namesrv_label, registered_broker
-- kept: several views read it
WITH labelled_broker AS (
  SELECT k.cluster_label, b.namesrv, b.boot, b.cluster, b.broker_name, b.broker_id, b.valid_from
  FROM registered_broker b
  JOIN namesrv_label k ON k.namesrv = b.namesrv
),
-- include: subject_witness
--   rows: labelled_broker
--   key: cluster, broker_name, broker_id
--   subject: s.cluster, s.broker_name, s.broker_id
--   same: f.cluster = s.cluster AND f.broker_name = s.broker_name AND f.broker_id = s.broker_id
SELECT namesrv, cluster, broker_name, broker_id, is_open, valid_from, valid_to
FROM witness
WHERE valid_from < valid_to

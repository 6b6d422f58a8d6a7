-- When each name server was a witness for a topic: from its first row of it in this boot, or at the latest from some
-- time after the start.
-- columns: namesrv, cluster, topic, valid_from, valid_to
-- reads: cluster_witness, registered_topic
-- not kept: two views read it, and a join of kept views is cheaper than writing it
WITH topic AS (
  SELECT DISTINCT cluster, topic FROM registered_topic
),
first_registration AS (
  SELECT namesrv, boot, cluster, topic, min(valid_from) AS first_registration
  FROM registered_topic
  GROUP BY namesrv, boot, cluster, topic
),
witness AS (
  SELECT
    w.namesrv, w.cluster, t.topic,
    -- include: witness_from
    --   first: f.first_registration
    AS valid_from,
    w.valid_to
  FROM cluster_witness w
  JOIN topic t ON t.cluster = w.cluster
  LEFT JOIN first_registration f
    ON f.namesrv = w.namesrv AND f.boot = w.boot AND f.cluster = w.cluster AND f.topic = t.topic
)
SELECT * FROM witness WHERE valid_from < valid_to

-- When each name server was a witness for a topic: from its first row of it in this boot, or at the latest from some
-- time after the start.
-- columns: namesrv, cluster_label, cluster, topic, valid_from, valid_to
-- reads: cluster_witness, registered_topic
-- not kept: two views read it, and a join of kept views is cheaper than writing it
WITH
-- include: subject_witness
--   rows: registered_topic
--   key: cluster, topic
--   subject: s.cluster, s.topic
--   same: f.cluster = s.cluster AND f.topic = s.topic
SELECT namesrv, cluster_label, cluster, topic, valid_from, valid_to
FROM witness
WHERE valid_from < valid_to

-- Topic rows with a hash of the topic. The topics of a broker name are in 16 buckets, see checkpoint_run.
-- columns: {envelope}, {fields of topic_row}, load_id, topic_hash, bucket
-- reads: topic_row
-- not kept: these are most of all rows
SELECT *, topic_hash & 15 AS bucket
FROM (SELECT t.*, xxhash64(topic) AS topic_hash FROM topic_row t) AS hashed

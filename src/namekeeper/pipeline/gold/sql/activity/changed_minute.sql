-- Minutes of which this run has new counts of activity.
-- columns: minute
-- reads: broker_minute, unknown_topic_minute
-- collected: they say which days to add up again
SELECT minute FROM broker_minute WHERE load_id = :load_id
UNION
SELECT minute FROM unknown_topic_minute WHERE load_id = :load_id

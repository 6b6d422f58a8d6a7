-- Minutes with new counts of activity in this run.
-- columns: minute
-- reads: broker_minute, unknown_topic_minute
-- collected: these are the days to sum up again
SELECT minute FROM broker_minute WHERE load_id = :load_id
UNION
SELECT minute FROM unknown_topic_minute WHERE load_id = :load_id

-- Minutes with new counts of activity in this run.
-- columns: minute
-- reads: added_broker_minute, added_unknown_topic_minute
-- collected: these are the days to sum up again
SELECT minute FROM added_broker_minute
UNION
SELECT minute FROM added_unknown_topic_minute

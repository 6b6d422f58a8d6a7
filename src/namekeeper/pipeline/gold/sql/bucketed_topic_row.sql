-- Topic rows with a number for the name of the topic; topics of a broker name are in handfuls, see topic_run.
SELECT *, topic_hash & 15 AS bucket
FROM (SELECT t.*, xxhash64(topic) AS topic_hash FROM topic_row t) AS numbered

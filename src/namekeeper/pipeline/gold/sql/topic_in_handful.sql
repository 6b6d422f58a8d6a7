-- Topic rows with a number for the name of the topic; topics of a broker name are in handfuls, see topic_run.
SELECT *, topic_number & 15 AS handful
FROM (SELECT t.*, xxhash64(topic) AS topic_number FROM topic_row t) AS numbered

-- Topic rows; topics of a broker name are in handfuls, see topic_run.
SELECT *, xxhash64(topic) & 31 AS handful FROM topic_row

-- Topics and queues of a broker name at its end, at the name server that kept it longest.
-- columns: broker_name, until, topics, read_queues, write_queues, cluster
-- reads: broker_group_history, topic_route
WITH ended AS (
  SELECT
    namesrv, broker_name, valid_to AS until, count(*) AS topics, sum(read_queue_nums) AS read_queues,
    sum(write_queue_nums) AS write_queues
  FROM topic_route
  WHERE
    valid_to IS NOT NULL AND (:first_day IS NULL OR valid_to_day >= :first_day)
    AND (:last_day IS NULL OR valid_to_day <= :last_day)
  GROUP BY namesrv, broker_name, valid_to
),
numbered AS (
  SELECT
    broker_name, until, topics, read_queues, write_queues,
    row_number() OVER (PARTITION BY broker_name ORDER BY until DESC, namesrv) AS number
  FROM ended
),
named AS (
  SELECT broker_name, max_by(cluster, valid_from) AS cluster
  FROM broker_group_history
  GROUP BY broker_name
)
SELECT n.broker_name, n.until, n.topics, n.read_queues, n.write_queues, g.cluster
FROM numbered n
LEFT JOIN named g ON g.broker_name = n.broker_name
WHERE n.number = 1
ORDER BY n.write_queues DESC, g.cluster NULLS LAST, n.broker_name

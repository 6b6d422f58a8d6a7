-- Topics and queues of a broker name at its end, at the name server that kept it longest.
-- columns: broker_name, until, topics, read_queues, write_queues, cluster, cluster_label
-- reads: broker_group_history, name_server_label_daily, topic_route
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
labelled AS (
  SELECT namesrv, max_by(cluster_label, day) AS cluster_label
  FROM name_server_label_daily
  GROUP BY namesrv
),
numbered AS (
  SELECT
    k.cluster_label, e.broker_name, e.until, e.topics, e.read_queues, e.write_queues,
    row_number() OVER (PARTITION BY k.cluster_label, e.broker_name ORDER BY e.until DESC, e.namesrv) AS number
  FROM ended e
  LEFT JOIN labelled k ON k.namesrv = e.namesrv
),
named AS (
  SELECT k.cluster_label, g.broker_name, max_by(g.cluster, g.valid_from) AS cluster
  FROM broker_group_history g
  LEFT JOIN labelled k ON k.namesrv = g.namesrv
  GROUP BY k.cluster_label, g.broker_name
)
SELECT n.broker_name, n.until, n.topics, n.read_queues, n.write_queues, g.cluster, n.cluster_label
FROM numbered n
LEFT JOIN named g ON g.broker_name = n.broker_name AND g.cluster_label IS NOT DISTINCT FROM n.cluster_label
WHERE n.number = 1 AND (:label IS NULL OR n.cluster_label = :label)
ORDER BY n.write_queues DESC, g.cluster NULLS LAST, n.broker_name, n.cluster_label NULLS FIRST

-- The name servers that had a broker within some time before an instant of a day; those of several brokers once.
-- columns: day, name_servers
-- reads: compared_day, registered_broker
-- collected: name servers that share a broker, directly or through others, are one cluster
WITH recent_broker AS (
  SELECT DISTINCT d.day, b.namesrv, b.broker_addr
  FROM registered_broker b
  JOIN compared_day d ON b.valid_from < d.to_ts AND b.valid_to > d.from_ts - :shared_ms
),
of_broker AS (
  SELECT day, broker_addr, sort_array(collect_set(namesrv)) AS name_servers
  FROM recent_broker
  GROUP BY day, broker_addr
)
SELECT DISTINCT day, name_servers
FROM of_broker

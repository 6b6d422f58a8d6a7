-- Name servers that had a broker within some time before an instant of a day, with the first name server that had it.
-- columns: day, namesrv, first_namesrv
-- reads: compared_day, registered_broker
-- collected: name servers that share a broker, directly or through others, are one cluster
WITH recent_broker AS (
  SELECT DISTINCT d.day, b.namesrv, b.broker_addr
  FROM registered_broker b
  JOIN compared_day d ON b.valid_from < d.to_ts AND b.valid_to > d.from_ts - :shared_ms
),
first_of_broker AS (
  SELECT day, namesrv, min(namesrv) OVER (PARTITION BY day, broker_addr) AS first_namesrv
  FROM recent_broker
)
SELECT DISTINCT day, namesrv, first_namesrv
FROM first_of_broker

-- The name, or the address, of a broker that some name server had.
-- columns: name
-- reads: broker_session
SELECT DISTINCT name
FROM (
  SELECT broker_name AS name FROM broker_session
  UNION ALL
  SELECT broker_addr FROM broker_session
) AS named
ORDER BY name

-- The filter servers of a broker at an instant.
-- columns: namesrv, {row of filter_servers}
-- reads: filter_server_history
SELECT namesrv, {row of filter_servers}
FROM filter_server_history
WHERE valid_from <= :at AND (valid_to IS NULL OR valid_to > :at)
ORDER BY namesrv, cluster, broker_addr

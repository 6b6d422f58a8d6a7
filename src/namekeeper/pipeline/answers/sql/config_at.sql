-- A property of the running configuration at an instant.
-- columns: namesrv, {row of config}
-- reads: config_history
SELECT namesrv, {row of config}
FROM config_history
WHERE valid_from <= :at AND (valid_to IS NULL OR valid_to > :at)
ORDER BY namesrv, property

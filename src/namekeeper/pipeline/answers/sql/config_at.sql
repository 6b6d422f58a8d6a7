-- A property of the running configuration at an instant.
-- columns: namesrv, property, value
-- reads: config_history
SELECT namesrv, property, `value`
FROM config_history
WHERE valid_from <= :at AND (valid_to IS NULL OR valid_to > :at)
ORDER BY namesrv, property

-- How many rows were changed in an hour, by cause.
-- columns: hour, cause, items
-- reads: change_log
SELECT at_ts - at_ts % 3600000 AS hour, coalesce(cause, action) AS cause, sum(items) AS items
FROM change_log
WHERE (:first_day IS NULL OR day >= :first_day) AND (:last_day IS NULL OR day <= :last_day)
GROUP BY at_ts - at_ts % 3600000, coalesce(cause, action)
ORDER BY hour, cause

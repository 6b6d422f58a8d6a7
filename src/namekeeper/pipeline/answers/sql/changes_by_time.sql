-- Number of changed rows and of records in a slice of time, by cause.
-- columns: slice, cause, items, records
-- reads: change_log, name_server_label_daily
SELECT
  at_ts - (at_ts + :offset_ms) % :slice_ms AS slice, coalesce(cause, action) AS cause, sum(items) AS items,
  count(*) AS records
FROM change_log
WHERE (:first_day IS NULL OR day >= :first_day) AND (:last_day IS NULL OR day <= :last_day)
  AND (:label IS NULL OR namesrv IN (SELECT namesrv FROM name_server_label_daily WHERE cluster_label = :label))
GROUP BY at_ts - (at_ts + :offset_ms) % :slice_ms, coalesce(cause, action)
ORDER BY slice, cause

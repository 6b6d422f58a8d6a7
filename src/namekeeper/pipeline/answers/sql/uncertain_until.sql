-- Until when the windows of observed changes reach that contain an instant; null: there is none.
-- columns: until_ts
-- reads: change_log
SELECT max(ts) AS until_ts
FROM change_log
WHERE at_ts > :at AND at_ts - window_ms <= :at AND (:namesrv IS NULL OR namesrv = :namesrv)

-- Days of the change log that are written again.
-- columns: day
-- reads: computed_change_log, old_change_log, recompute_range
-- collected: the writer takes the days as values
SELECT day FROM computed_change_log
UNION
SELECT o.day
FROM old_change_log o
JOIN recompute_range w ON w.namesrv = o.namesrv AND o.at_ts >= w.from_ts AND o.at_ts <= w.to_ts

-- Condition: the row `$row`, of column `$position`, lies inside the recompute range `w`.
w.namesrv = $row.namesrv
AND ($row.boot > w.from_boot OR ($row.boot = w.from_boot AND $row.$position >= w.from_position))
AND ($row.boot < w.to_boot OR ($row.boot = w.to_boot AND $row.$position < w.to_position))

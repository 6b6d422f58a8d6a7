-- Joins: the offset of the clock of the name server of `$row` on its first and on its last day. See corrected_times.
LEFT JOIN name_server_clock_daily clock_from
  ON clock_from.namesrv = $row.namesrv AND clock_from.day = day_of($row.valid_from, :zone)
LEFT JOIN name_server_clock_daily clock_to
  ON clock_to.namesrv = $row.namesrv AND clock_to.day = day_of($row.valid_to, :zone)

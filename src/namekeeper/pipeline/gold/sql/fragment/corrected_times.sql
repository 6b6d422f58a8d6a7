-- Columns: the times of the row `$row` as its name server wrote them, and corrected by the offset of its clock on the
-- day. The clocks are joined by clock_of_period.
$row.valid_from AS uncorrected_from, $row.valid_to AS uncorrected_to,
$row.valid_from - coalesce(clock_from.offset_ms, 0) AS valid_from,
$row.valid_to - coalesce(clock_to.offset_ms, 0) AS valid_to

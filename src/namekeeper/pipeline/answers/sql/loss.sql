-- A loss, with the position of the first missing record.
-- columns: namesrv, boot, first_seq, unknown_from
-- reads: lost_records
SELECT namesrv, boot, first_seq, unknown_from
FROM lost_records
WHERE :namesrv IS NULL OR namesrv = :namesrv
ORDER BY namesrv, boot, first_seq

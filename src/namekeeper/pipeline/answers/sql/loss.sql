-- A loss: where the first missing record would be.
-- columns: namesrv, boot, first_seq, unknown_from
-- reads: lost_records
SELECT namesrv, boot, first_seq, unknown_from
FROM lost_records
WHERE :namesrv IS NULL OR namesrv = :namesrv
ORDER BY namesrv, boot, first_seq

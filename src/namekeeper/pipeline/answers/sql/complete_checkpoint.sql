-- A complete checkpoint: from here on the state is known.
-- columns: namesrv, boot, begin_seq, from_ts
-- reads: known_span
SELECT namesrv, boot, begin_seq, from_ts
FROM known_span
WHERE from_ts <= :until AND (:namesrv IS NULL OR namesrv = :namesrv)
ORDER BY namesrv, boot, begin_seq

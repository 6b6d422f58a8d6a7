-- Within the recompute ranges: complete checkpoints. From each of them the state is known until the next boundary.
-- columns: namesrv, boot, begin_seq, end_seq, from_ts
-- reads: boundary
SELECT namesrv, boot, position AS begin_seq, end_seq, eff_ts AS from_ts
FROM boundary
WHERE state = 'up' AND NOT is_range_end

-- Complete checkpoints of the work: from each, the state is known until the next boundary.
SELECT namesrv, boot, position AS begin_seq, end_seq, eff_ts AS from_ts
FROM boundary
WHERE state = 'up' AND NOT is_range_end

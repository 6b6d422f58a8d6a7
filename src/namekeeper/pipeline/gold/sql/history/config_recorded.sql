-- Properties as recorded. A property that has a value never loses it.
-- columns: namesrv, boot, seq, place, checkpoint, change, ts, up_ms, cause, peer, property, value, load_id, gone
-- reads: config
SELECT *, false AS gone FROM config

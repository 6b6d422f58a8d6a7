-- Checkpoints at which a run begins.
-- columns: checkpoint
-- reads: checkpoint_run
-- collected: if there are few, topic_recorded names them, and the engine skips files without them
SELECT DISTINCT checkpoint
FROM checkpoint_run
WHERE checkpoint = span

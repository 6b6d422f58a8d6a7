-- How many records of each kind a checkpoint promises at its end.
SELECT namesrv, boot, checkpoint, explode(counts) AS (kind, records)
FROM checkpoint
WHERE kind = 'checkpoint_end'

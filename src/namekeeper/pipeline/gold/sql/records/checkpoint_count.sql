-- How many records of each kind a checkpoint declares in its last record.
-- columns: namesrv, boot, checkpoint, kind, records
-- reads: checkpoint
SELECT namesrv, boot, checkpoint, declared.key AS kind, declared.value AS records
FROM (
  SELECT namesrv, boot, checkpoint, explode(map_entries(counts)) AS declared
  FROM checkpoint
  WHERE kind = 'checkpoint_end'
) AS checkpoint_end

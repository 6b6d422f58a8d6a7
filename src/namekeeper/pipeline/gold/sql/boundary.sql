-- Where a name server begins to be known, is lost or stops, and where the next of these is. Before the first
-- complete checkpoint there is none. What is unknown stays so until a checkpoint, even if the server stops.
WITH turning AS (
  SELECT
    p.namesrv, p.range_id, p.boot, p.place, p.eff_ts, p.is_wall, c.end_seq,
    CASE
      WHEN p.kind = 'loss' THEN 'unknown'
      WHEN p.kind = 'server_stopped' THEN 'stopped'
      ELSE 'up'
    END AS turn
  FROM place p
  LEFT JOIN complete_checkpoint c
    ON c.namesrv = p.namesrv AND c.range_id = p.range_id AND c.boot = p.boot AND c.begin_seq = p.place
  WHERE p.kind = 'loss' OR p.kind = 'server_stopped' OR p.is_wall OR c.begin_seq IS NOT NULL
),
known AS (
  SELECT
    t.*,
    lag(turn) OVER o AS before_turn,
    sum(CASE WHEN turn = 'up' THEN 1 ELSE 0 END) OVER (
      PARTITION BY namesrv, range_id ORDER BY boot, place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS checkpoints
  FROM turning t
  WINDOW o AS (PARTITION BY namesrv, range_id ORDER BY boot, place)
)
SELECT
  namesrv, range_id, boot, place, eff_ts, end_seq, is_wall,
  CASE WHEN turn = 'stopped' AND before_turn <> 'up' THEN before_turn ELSE turn END AS state,
  lead(boot) OVER o AS to_boot,
  lead(place) OVER o AS to_place,
  lead(eff_ts) OVER o AS to_ts,
  CASE lead(turn) OVER o WHEN 'up' THEN 'checkpoint' ELSE lead(turn) OVER o END AS ended_by
FROM known
WHERE checkpoints > 0
WINDOW o AS (PARTITION BY namesrv, range_id ORDER BY boot, place)

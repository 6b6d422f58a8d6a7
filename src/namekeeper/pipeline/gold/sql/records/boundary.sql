-- Positions at which the state of a name server becomes known or unknown, or it stops, with the next such
-- position. There is none before the first complete checkpoint. An unknown state stays unknown until a
-- complete checkpoint, even if the server stops.
-- columns: namesrv, range_id, boot, position, eff_ts, end_seq, is_range_end, state, to_boot, to_position, to_ts,
--   ended_by
-- reads: complete_checkpoint, position
-- kept: several views read it, and it has few rows
WITH state_change AS (
  SELECT
    p.namesrv, p.range_id, p.boot, p.position, p.eff_ts, p.is_range_end, c.end_seq,
    CASE
      WHEN p.kind = 'loss' THEN 'unknown'
      WHEN p.kind = 'server_stopped' THEN 'stopped'
      ELSE 'up'
    END AS new_state
  FROM position p
  LEFT JOIN complete_checkpoint c
    ON c.namesrv = p.namesrv AND c.range_id = p.range_id AND c.boot = p.boot AND c.begin_seq = p.position
  WHERE p.kind = 'loss' OR p.kind = 'server_stopped' OR p.is_range_end OR c.begin_seq IS NOT NULL
),
ordered_change AS (
  SELECT
    t.*,
    lag(new_state) OVER o AS previous_state,
    sum(CASE WHEN new_state = 'up' THEN 1 ELSE 0 END) OVER (
      PARTITION BY namesrv, range_id ORDER BY boot, position ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS checkpoints_so_far
  FROM state_change t
  WINDOW o AS (PARTITION BY namesrv, range_id ORDER BY boot, position)
)
SELECT
  namesrv, range_id, boot, position, eff_ts, end_seq, is_range_end,
  CASE WHEN new_state = 'stopped' AND previous_state <> 'up' THEN previous_state ELSE new_state END AS state,
  lead(boot) OVER o AS to_boot,
  lead(position) OVER o AS to_position,
  lead(eff_ts) OVER o AS to_ts,
  CASE lead(new_state) OVER o WHEN 'up' THEN 'checkpoint' ELSE lead(new_state) OVER o END AS ended_by
FROM ordered_change
WHERE checkpoints_so_far > 0
WINDOW o AS (PARTITION BY namesrv, range_id ORDER BY boot, position)

-- Losses: a gap in seq, or a boot that ended without server_stopped. The position of a loss is the first
-- missing seq. alive_ts is when the name server still ran after its last record.
-- columns: namesrv, range_id, boot, first_seq, next_boot, next_seq, reason, lost_records, alive_ts
-- reads: record_block, record_in_range, server
-- kept: several views read it, and it has few rows
WITH contiguous_records AS (
  SELECT
    namesrv, range_id, boot, first_seq AS seq, last_seq, coalesce(stop_seq = last_seq, false) AS stops
  FROM record_block
  WHERE NOT has_hole
  UNION ALL
  SELECT /*+ BROADCAST(b) */ i.namesrv, i.range_id, i.boot, i.seq, i.seq, i.kind = 'server_stopped'
  FROM record_in_range i
  JOIN record_block b
    ON b.namesrv = i.namesrv AND b.range_id = i.range_id AND b.boot = i.boot
    AND b.block = i.seq - i.seq % :block_records AND b.is_range_end = i.is_range_end
  WHERE b.has_hole
),
records_with_previous AS (
  SELECT
    namesrv, range_id, boot, seq,
    lag(boot) OVER w AS before_boot,
    lag(last_seq) OVER w AS before_seq,
    lag(stops) OVER w AS before_stops
  FROM contiguous_records
  WINDOW w AS (PARTITION BY namesrv, range_id ORDER BY boot, seq)
),
gap AS (
  SELECT * FROM records_with_previous WHERE boot <> before_boot OR seq > before_seq + 1
),
explained_gap AS (
  SELECT
    n.*,
    n.boot = n.before_boot AS same_boot,
    coalesce(s.previous_boot, 0) AS previous_boot,
    coalesce(s.previous_seq, 0) AS previous_seq,
    s.previous_alive_ts
  FROM gap n
  LEFT JOIN server s
    ON s.namesrv = n.namesrv AND s.boot = n.boot AND s.seq = n.seq AND s.kind = 'server_started'
)
SELECT
  namesrv,
  range_id,
  before_boot AS boot,
  before_seq + 1 AS first_seq,
  boot AS next_boot,
  seq AS next_seq,
  CASE
    WHEN same_boot THEN 'missing_records'
    WHEN NOT before_stops THEN 'no_stop'
    WHEN previous_boot > before_boot THEN 'missing_boot'
    ELSE 'missing_start'
  END AS reason,
  CASE
    WHEN same_boot THEN seq - before_seq - 1
    WHEN previous_boot = before_boot AND previous_seq > before_seq THEN previous_seq - before_seq + seq - 1
    ELSE seq - 1
  END AS lost_records,
  CASE WHEN previous_boot = before_boot AND previous_seq = before_seq THEN previous_alive_ts END AS alive_ts
FROM explained_gap
WHERE same_boot OR NOT before_stops OR seq <> 1 OR previous_boot > before_boot

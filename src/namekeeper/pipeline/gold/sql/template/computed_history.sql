-- Within the recompute ranges: the values of each row of {table} with their time ranges, as far as is known.
-- A value is valid from its record until the next record of the same key, or until the end of the known time.
-- Of several records with one effective time the last one counts. A checkpoint that only confirms a value
-- makes no new row. All windows have the same order, so that an engine sorts once.
-- columns: namesrv, {key_and_values}, valid_from, valid_to, from_boot, from_seq, from_cause, from_peer, from_window_ms,
--   ended_by, to_boot, to_seq, to_cause, to_peer, to_window_ms{closing_names}
-- reads: {fact}, known_position{run_read}
WITH recorded AS (
  SELECT /*+ BROADCAST(k{run_hint}) */
    f.namesrv, f.boot AS recorded_boot, f.place AS position, f.seq, k.eff_ts, {span}, {recorded},
    f.gone, f.cause, f.peer, f.window_ms
  FROM {fact} f
  JOIN known_position k ON k.namesrv = f.namesrv AND k.boot = f.boot AND k.position = f.place{run_join}
  WHERE f.checkpoint IS NULL OR f.checkpoint = {own_span}
),
recorded_in_order AS (
  SELECT
    t.*,
    lead(eff_ts) OVER w AS following_ts,
    lead(recorded_boot) OVER w = recorded_boot AND lead(span) OVER w = span AS is_followed
  FROM recorded t
  WINDOW w AS (PARTITION BY namesrv, {key} ORDER BY recorded_boot, position, seq)
),
recorded_with_next AS (
  SELECT
    o.*,
    coalesce(lead(recorded_boot) OVER w = recorded_boot AND lead(span) OVER w = span, false) AS has_next,
    lead(eff_ts) OVER w AS next_ts,
    lead(position) OVER w AS next_position,
    lead(gone) OVER w AS next_gone,
    lead(cause) OVER w AS next_cause,
    lead(peer) OVER w AS next_peer,
    lead(window_ms) OVER w AS next_window_ms{next_closing}
  FROM recorded_in_order o
  WHERE NOT coalesce(is_followed, false) OR following_ts > eff_ts
  WINDOW w AS (PARTITION BY namesrv, {key} ORDER BY recorded_boot, position, seq)
),
value_period AS (
  SELECT
    namesrv, {key_and_values}, recorded_boot, position, seq, cause, peer, window_ms,
    eff_ts AS valid_from,
    CASE WHEN has_next THEN next_ts ELSE span_to_ts END AS valid_to,
    CASE WHEN NOT has_next THEN span_ended_by WHEN next_gone THEN 'gone' ELSE 'changed' END AS ended_by,
    CASE WHEN has_next THEN recorded_boot ELSE to_boot END AS end_boot,
    CASE WHEN has_next THEN next_position ELSE to_position END AS end_position,
    CASE WHEN has_next THEN next_cause END AS to_cause,
    CASE WHEN has_next THEN next_peer END AS to_peer,
    CASE WHEN has_next THEN next_window_ms END AS to_window_ms{closing}
  FROM recorded_with_next
  WHERE NOT gone AND eff_ts < CASE WHEN has_next THEN next_ts ELSE span_to_ts END
),
-- include: joined_islands
--   rows: value_period
--   key: namesrv, {key}
--   order: recorded_boot, position, seq
--   continues: lag(valid_to) OVER w = valid_from
--     {same_values}
--   first: namesrv, {key_and_values}, valid_from, recorded_boot, position, cause, peer, window_ms
--   last: {last_ends}
SELECT
  namesrv, {key_and_values}, valid_from, valid_to,
  recorded_boot AS from_boot, position AS from_seq, cause AS from_cause, peer AS from_peer,
  window_ms AS from_window_ms, ended_by, end_boot AS to_boot, end_position AS to_seq, to_cause, to_peer,
  to_window_ms{closing_names}
FROM joined_island
WHERE is_first = 1

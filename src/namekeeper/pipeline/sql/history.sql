-- What each row of {table} was from when to when, within what is known: told at one place, until the same key is
-- told again or the knowledge ends. Of what is told for one effective time, only the last shows.
WITH told AS (
  SELECT
    f.namesrv, f.boot AS told_boot, f.place, f.seq, k.span, k.eff_ts, k.span_to_ts, k.span_ended_by,
    k.to_boot, k.to_place, {told}, f.gone, f.cause, f.peer
  FROM {fact} f
  JOIN known_place k ON k.namesrv = f.namesrv AND k.boot = f.boot AND k.place = f.place
  WHERE f.checkpoint IS NULL OR f.checkpoint = k.span
),
ordered AS (
  SELECT
    t.*,
    lead(eff_ts) OVER (PARTITION BY namesrv, told_boot, span, {key} ORDER BY place, seq) AS following_ts
  FROM told t
),
followed AS (
  SELECT
    o.*,
    lead(eff_ts) OVER w AS next_ts,
    lead(place) OVER w AS next_place,
    lead(gone) OVER w AS next_gone,
    lead(cause) OVER w AS next_cause,
    lead(peer) OVER w AS next_peer{next_closing}
  FROM ordered o
  WHERE following_ts IS NULL OR following_ts > eff_ts
  WINDOW w AS (PARTITION BY namesrv, told_boot, span, {key} ORDER BY place, seq)
)
SELECT
  namesrv, {key_and_values},
  eff_ts AS valid_from,
  coalesce(next_ts, span_to_ts) AS valid_to,
  told_boot AS from_boot,
  place AS from_seq,
  cause AS from_cause,
  peer AS from_peer,
  CASE WHEN next_ts IS NULL THEN span_ended_by WHEN next_gone THEN 'gone' ELSE 'changed' END AS ended_by,
  CASE WHEN next_ts IS NULL THEN to_boot ELSE told_boot END AS to_boot,
  coalesce(next_place, to_place) AS to_seq,
  next_cause AS to_cause,
  next_peer AS to_peer{closing}
FROM followed
WHERE NOT gone AND eff_ts < coalesce(next_ts, span_to_ts)

WITH newest AS (
  SELECT namesrv, max_by(knows_up_to, boot) AS knows_up_to FROM name_server_session GROUP BY namesrv
)
SELECT
  r.namesrv, {row of topic_row as r}, timestamp_millis(r.valid_from) AS held_from,
  -- The last record of a name server still confirms open rows, so 1 ms is added to its time.
  timestamp_millis(coalesce(r.valid_to, n.knows_up_to + 1)) AS held_until, r.valid_to IS NULL AS is_open,
  CASE WHEN r.valid_to_day <> 'open' THEN CAST(r.valid_to_day AS DATE) END AS ended_on, r.from_cause, r.from_peer,
  r.ended_by, r.to_cause, r.to_peer
FROM topic_route r
JOIN newest n ON n.namesrv = r.namesrv

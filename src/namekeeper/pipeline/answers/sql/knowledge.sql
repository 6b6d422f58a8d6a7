-- Whether the journal of a name server knows the state at an instant.
-- columns: namesrv, knowledge, knows_up_to
-- reads: name_server_session, name_server_timeline
WITH up_to AS (
  SELECT namesrv, max_by(knows_up_to, boot) AS knows_up_to
  FROM name_server_session
  WHERE :namesrv IS NULL OR namesrv = :namesrv
  GROUP BY namesrv
),
at_instant AS (
  SELECT namesrv, state
  FROM name_server_timeline
  WHERE valid_from <= :at AND (valid_to IS NULL OR valid_to > :at)
)
SELECT
  u.namesrv,
  CASE
    WHEN :at > u.knows_up_to THEN 'not known yet'
    WHEN s.state IS NULL THEN 'before the journal'
    WHEN s.state = 'up' THEN 'known'
    ELSE s.state
  END AS knowledge,
  u.knows_up_to
FROM up_to u
LEFT JOIN at_instant s ON s.namesrv = u.namesrv
ORDER BY u.namesrv

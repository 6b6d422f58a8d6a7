WITH known AS (
  SELECT max(knows_up_to) AS up_to FROM name_server_session
)
SELECT
  substr(
    md5(
      concat_ws(
        chr(0), i.kind, CAST(i.from_ts AS STRING), coalesce(i.cause, ''), coalesce(i.cluster_label, ''),
        coalesce(i.cluster, ''), i.subject
      )
    ),
    1, 16
  ) AS incident_id,
  i.kind, coalesce(i.cluster_label, '') AS cluster_label, i.cluster, i.subject,
  CAST(day_of(i.from_ts, :zone) AS DATE) AS day, timestamp_millis(i.from_ts) AS began_at,
  timestamp_millis(i.to_ts) AS ended_at, i.is_open, coalesce(i.to_ts, k.up_to) - i.from_ts AS lasted_ms, i.cause,
  i.peer, i.closed_by, i.brokers, i.broker_names, i.topics, i.first_topic, i.topic_ms, i.name_servers, i.lookups,
  i.languages, i.is_forgotten, i.from_window_ms, i.to_window_ms
FROM incident i
CROSS JOIN known k

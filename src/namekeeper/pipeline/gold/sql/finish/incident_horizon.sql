-- The time of the last record of any name server of a label; of any name server at all, if none has the label now.
-- Name servers without a label have an empty one. `compared_up_to` is that of name servers that are compared: of no
-- shadow.
-- columns: cluster_label, up_to, compared_up_to
-- reads: labelled_period, last_record_time
-- not kept: it has a row for each label, and is cheap to compute
WITH present AS (
  SELECT
    coalesce(k.cluster_label, '') AS cluster_label, max(l.up_to) AS up_to,
    max(CASE WHEN l.namesrv <> 'shadow' AND l.namesrv NOT LIKE '%.shadow' THEN l.up_to END) AS compared_up_to
  FROM last_record_time l
  LEFT JOIN labelled_period k ON k.namesrv = l.namesrv AND k.to_ts = :forever
  GROUP BY coalesce(k.cluster_label, '')
),
past AS (
  SELECT DISTINCT cluster_label FROM labelled_period
)
SELECT cluster_label, up_to, compared_up_to FROM present
UNION ALL
SELECT
  p.cluster_label, (SELECT max(up_to) FROM last_record_time) AS up_to,
  (SELECT max(up_to) FROM last_record_time) AS compared_up_to
FROM past p
LEFT JOIN present n ON n.cluster_label = p.cluster_label
WHERE n.cluster_label IS NULL

-- The time of the last record of any name server of a label; of any name server at all, if none has the label now.
-- Name servers without a label have an empty one.
-- columns: cluster_label, up_to
-- reads: labelled_period, last_record_time
-- not kept: it has a row for each label, and is cheap to compute
WITH present AS (
  SELECT k.cluster_label, max(l.up_to) AS up_to
  FROM last_record_time l
  JOIN labelled_period k ON k.namesrv = l.namesrv AND k.to_ts = :forever
  GROUP BY k.cluster_label
),
past AS (
  SELECT DISTINCT cluster_label FROM labelled_period
)
SELECT cluster_label, up_to FROM present
UNION ALL
SELECT p.cluster_label, (SELECT max(up_to) FROM present) AS up_to
FROM past p
LEFT JOIN present n ON n.cluster_label = p.cluster_label
WHERE n.cluster_label IS NULL

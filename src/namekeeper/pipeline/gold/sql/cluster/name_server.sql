-- Name servers with records, and the labels of their clusters: a row for the first boot, and one for each boot that has
-- another label than the boot before.
-- columns: namesrv, from_ts, cluster_label
-- reads: computed_name_server_session
-- collected: a single name server is not compared, and labels decide which others are
WITH boot_in_order AS (
  SELECT
    namesrv, first_ts, uuid, cluster_label, lag(boot) OVER w AS boot_before, lag(cluster_label) OVER w AS label_before
  FROM computed_name_server_session
  WINDOW w AS (PARTITION BY namesrv ORDER BY boot)
)
SELECT namesrv, first_ts AS from_ts, cluster_label
FROM boot_in_order
WHERE boot_before IS NULL OR (uuid IS NOT NULL AND cluster_label IS DISTINCT FROM label_before)

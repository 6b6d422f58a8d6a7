-- Broker names as recorded, with members that can be compared.
-- columns: namesrv, boot, seq, place, checkpoint, change, ts, up_ms, cause, peer, broker_name, cluster, zone,
--   acting_master, gone, load_id, members
-- reads: broker_group
SELECT
  namesrv, boot, place, seq, checkpoint, cause, peer, broker_name, cluster, zone, acting_master, gone,
  array_sort(
    transform(
      map_entries(broker_addrs),
      e -> named_struct('broker_id', CAST(e.key AS BIGINT), 'broker_addr', e.value)
    )
  ) AS members
FROM broker_group

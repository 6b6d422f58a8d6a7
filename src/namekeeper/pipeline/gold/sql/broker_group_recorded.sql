-- Groups as they are told, with members that can be compared.
SELECT
  namesrv, boot, place, seq, checkpoint, cause, peer, broker_name, cluster, zone, acting_master, gone,
  array_sort(
    transform(
      map_entries(broker_addrs),
      e -> named_struct('broker_id', CAST(e.key AS BIGINT), 'broker_addr', e.value)
    )
  ) AS members
FROM broker_group

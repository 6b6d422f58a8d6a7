-- Broker names as recorded, with members that can be compared.
-- columns: {envelope}, {plain of broker_group}, load_id, members
-- reads: broker_group
-- not kept: it only writes the members in another form
SELECT
  {envelope}, {plain of broker_group}, load_id,
  array_sort(
    transform(
      map_entries(broker_addrs),
      e -> named_struct('broker_id', CAST(e.key AS BIGINT), 'broker_addr', e.value)
    )
  ) AS members
FROM broker_group

-- A static-topic mapping as recorded, of a topic, a broker name or all.
-- columns: namesrv, boot, place, seq, checkpoint, change, ts, cause, peer, topic,
--   broker_name, mapping, gone
-- reads: topic_mapping, known_span
SELECT
  f.namesrv, f.boot, f.place, f.seq, f.checkpoint, f.change, f.ts, f.cause, f.peer,
  f.topic,
  f.broker_name, f.mapping, f.gone
FROM topic_mapping f
LEFT JOIN known_span k ON k.namesrv = f.namesrv AND k.boot = f.boot AND k.begin_seq = f.checkpoint
WHERE
  ((f.checkpoint IS NULL AND f.ts >= :since AND f.ts <= :until) OR (k.from_ts >= :since AND k.from_ts <= :until))
  AND (:namesrv IS NULL OR f.namesrv = :namesrv)
  AND (:name IS NULL OR f.topic = :name OR f.broker_name = :name)
ORDER BY f.namesrv, f.boot, f.place, f.seq

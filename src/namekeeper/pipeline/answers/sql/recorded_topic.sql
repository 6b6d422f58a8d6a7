-- A topic row as recorded, of a topic, a broker name or all: changes, and what complete checkpoints say.
-- columns: namesrv, boot, place, seq, checkpoint, change, ts, cause, peer, broker_name,
--   topic, read_queue_nums, write_queue_nums, perm, topic_sys_flag, gone
-- reads: topic_row, known_span
SELECT
  f.namesrv, f.boot, f.place, f.seq, f.checkpoint, f.change, f.ts, f.cause, f.peer,
  f.broker_name,
  f.topic, f.read_queue_nums, f.write_queue_nums, f.perm, f.topic_sys_flag, f.gone
FROM topic_row f
LEFT JOIN known_span k ON k.namesrv = f.namesrv AND k.boot = f.boot AND k.begin_seq = f.checkpoint
WHERE
  ((f.checkpoint IS NULL AND f.ts >= :since AND f.ts <= :until) OR (k.from_ts >= :since AND k.from_ts <= :until))
  AND (:namesrv IS NULL OR f.namesrv = :namesrv)
  AND (:name IS NULL OR f.topic = :name OR f.broker_name = :name)
ORDER BY f.namesrv, f.boot, f.place, f.seq, f.topic

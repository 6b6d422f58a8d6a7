-- Requests that were refused, by rules or for another reason: counted by code and host.
-- columns: namesrv, at, code, host, reason, count
-- reads: denied
SELECT d.namesrv, d.ts AS at, d.code, d.host, d.reason, d.count
FROM denied d
WHERE
  d.ts > :since AND d.ts <= :until AND (:namesrv IS NULL OR d.namesrv = :namesrv)
ORDER BY d.namesrv, d.ts, d.boot, d.seq

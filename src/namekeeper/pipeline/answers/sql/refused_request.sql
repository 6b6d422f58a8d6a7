-- A request that access rules refused, or several that are counted together.
-- columns: namesrv, at, code, about, peer, user, rule, count
-- reads: access
SELECT
  a.namesrv, a.ts AS at, a.code, a.about, a.peer, a.`user`, a.rule, a.count
FROM access a
WHERE
  coalesce(a.allowed, false) = false AND a.mode = 'enforce' AND a.ts >= :since AND a.ts <= :until
  AND (:namesrv IS NULL OR a.namesrv = :namesrv)
ORDER BY a.namesrv, a.ts, a.boot, a.seq

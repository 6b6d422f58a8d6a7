-- A request that access rules checked, or several that are counted together.
-- columns: namesrv, at, code, allowed, rule, mode, peer, user, claimed, certificate, about, count
-- reads: access
SELECT
  a.namesrv, a.ts AS at, a.code, coalesce(a.allowed, false) AS allowed, a.rule, a.mode, a.peer, a.`user`, a.claimed,
  a.certificate, a.about, a.count
FROM access a
WHERE
  a.ts > :since AND a.ts <= :until AND (:namesrv IS NULL OR a.namesrv = :namesrv)
ORDER BY a.namesrv, a.ts, a.boot, a.seq

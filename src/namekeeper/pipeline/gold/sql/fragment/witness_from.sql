-- Expression: the time from which the cluster witness `w` is also a witness for a subject that it first had
-- at `$first`.
greatest(w.valid_from, least(w.witness_at_latest, coalesce($first, w.witness_at_latest)))

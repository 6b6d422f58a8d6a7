-- Work that concerns a row of before: it overlaps it, or is its neighbour, to be joined.
SELECT 1 FROM {recompute_range} w
WHERE {scope} o.valid_from <= w.to_ts AND coalesce(o.valid_to, :forever) >= w.from_ts

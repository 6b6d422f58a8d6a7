-- Condition: a row `o` of an earlier run overlaps a range to recompute, or touches it, so that both can become one row.
EXISTS (
  SELECT 1 FROM {recompute_range} w
  WHERE {scope} o.valid_from <= w.to_ts AND coalesce(o.valid_to, :forever) >= w.from_ts
)

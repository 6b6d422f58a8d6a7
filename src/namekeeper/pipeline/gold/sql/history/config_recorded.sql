-- Properties as recorded. A property that has a value never loses it.
-- columns: {envelope}, {fields of config}, load_id, gone
-- reads: config
SELECT *, false AS gone FROM config

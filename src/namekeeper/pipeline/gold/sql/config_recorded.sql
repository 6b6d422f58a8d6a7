-- Properties as they are told; one that has a value never loses it.
SELECT *, false AS gone FROM config

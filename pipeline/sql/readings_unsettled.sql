-- Files that were read whole, of which it was not noted that all of them is stored.
SELECT time_ns, source, read_by
FROM readings
FINAL
WHERE frame = 0
ORDER BY source, time_ns

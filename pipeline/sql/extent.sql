-- What the store holds: how many verdicts, and from when until the end of the shortest interval that began last (0 when it is empty).
-- Parts know when their rows begin, so that few are read.
WITH (SELECT tuple(count(), min(time_ns), max(time_ns)) FROM verdicts) AS known
SELECT known.1 AS verdicts, known.2 AS from_ns, min(time_ns + interval_ns) AS to_ns
FROM verdicts
WHERE time_ns = known.3
SETTINGS max_threads = 1

-- Hops of all versions that hold, as they were told.
SELECT DISTINCT * EXCEPT (told_ns, stored_at)
FROM hops
WHERE told_ns = (SELECT max(told_ns) FROM hops)

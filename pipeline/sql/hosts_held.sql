-- Address prefixes of hosts of all versions that hold, as they were told.
SELECT DISTINCT * EXCEPT (told_ns, stored_at)
FROM hosts
WHERE told_ns = (SELECT max(told_ns) FROM hops)

-- Whether the store holds verdicts of some tenants; from when until the end of the shortest interval that began last is that of all.
WITH (SELECT tuple(min(time_ns), max(time_ns)) FROM verdicts) AS known
SELECT
    (
        SELECT count()
        FROM (
            SELECT 1
            FROM verdicts
            WHERE flow IN (SELECT flow FROM flows WHERE has({tenants:Array(String)}, owner))
            LIMIT 1
        )
    ) AS verdicts,
    known.1 AS from_ns,
    min(time_ns + interval_ns) AS to_ns
FROM verdicts
WHERE time_ns = known.2
SETTINGS max_threads = 1

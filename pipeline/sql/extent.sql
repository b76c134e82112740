-- What the store holds: how many verdicts, from when to when (0 when it is empty).
SELECT
    count() AS verdicts,
    min(time_ns) AS from_ns,
    (
        SELECT max(time_ns + interval_ns)
        FROM verdicts
        WHERE slice >= (SELECT intDiv(max(time_ns), 60000000000) FROM verdicts)
    ) AS to_ns
FROM verdicts
SETTINGS max_threads = 1

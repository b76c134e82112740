-- What the store holds of some tenants: how many verdicts; from when to when is that of all.
SELECT
    countIf(flow IN (SELECT flow FROM flows WHERE has({tenants:Array(String)}, owner))) AS verdicts,
    min(time_ns) AS from_ns,
    (
        SELECT max(time_ns + interval_ns)
        FROM verdicts
        WHERE slice >= (SELECT intDiv(max(time_ns), 60000000000) FROM verdicts)
    ) AS to_ns
FROM verdicts

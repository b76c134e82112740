-- How much of a window do verdicts on any flow speak of, and how complete are they?
-- Of several lengths of a flow's intervals the longest from `least_ns` to `most_ns` counts, or else, with `least_ns` 0,
-- the shortest.
WITH fitting AS (
-- part: lengths
),
told AS (
    SELECT
-- part: told_intervals
        AND (i.flow, i.interval_ns) IN (SELECT flow, length FROM fitting)
    WHERE
        has({tenants:Array(String)}, '*')
        OR i.flow IN (SELECT flow FROM flows WHERE has({tenants:Array(String)}, owner))
    GROUP BY i.time_ns, i.interval_ns
)
-- part: coverage

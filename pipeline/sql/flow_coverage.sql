-- How much of a window do verdicts on one flow speak of, and how complete are they? Lengths as for `coverage`.
WITH told AS (
    SELECT
-- part: told_intervals
        AND i.flow = {flow:UInt64}
    WHERE i.interval_ns = (
        SELECT
-- part: fitting
        FROM verdicts AS i
        WHERE
-- part: in_window
            AND i.flow = {flow:UInt64}
    )
    GROUP BY i.time_ns, i.interval_ns
)
-- part: coverage

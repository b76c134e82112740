-- When did the run of verdicts on one hop begin that lasts until `before_ns`, looked for from `floor_ns` on?
-- Silence does not end a run. 0: there is no verdict in that time.
SELECT
    maxIf(time_ns + interval_ns, NOT same) AS broken_ns,
    arrayMin(arrayFilter(start -> start >= broken_ns, groupArrayIf(time_ns, same))) AS since_ns
FROM (
    SELECT
        time_ns,
        interval_ns,
        ifNull(node = {node:UInt32} AND port = {port:UInt32}, 0)
            AND
-- part: holding
        AS same
    FROM verdicts AS i FINAL
    WHERE flow = {flow:UInt64}
        AND interval_ns = {interval_ns:Int64}
        AND slice BETWEEN intDiv({floor_ns:Int64}, 60000000000) AND intDiv({before_ns:Int64}, 60000000000)
        AND time_ns >= {floor_ns:Int64}
        AND time_ns < {before_ns:Int64}
)
SETTINGS max_threads = 1

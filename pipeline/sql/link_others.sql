-- How many flows of other tenants crossed one hop in a window, and how much did they send together?
WITH crossing AS (
    SELECT flow
    FROM hop_intervals
    WHERE time_ns >= {from_ns:Int64}
        AND time_ns < {to_ns:Int64}
        AND node = {node:UInt32}
        AND port = {port:UInt32}
        AND flow NOT IN (SELECT flow FROM flows WHERE hasAny({tenants:Array(String)}, ['*', owner]))
    GROUP BY flow
)
SELECT
    (SELECT count() FROM crossing) AS flows,
    sum(at_most) AS data_bytes
FROM (
    SELECT flow, max(at_point) AS at_most
    FROM (
        SELECT flow, point, sum(i.data_bytes) AS at_point
        FROM flow_intervals AS i
        WHERE slice BETWEEN intDiv({from_ns:Int64}, 60000000000) AND intDiv({to_ns:Int64}, 60000000000)
            AND i.time_ns >= {from_ns:Int64}
            AND i.time_ns < {to_ns:Int64}
            AND flow IN crossing
        GROUP BY flow, point
    )
    GROUP BY flow
)

-- Which flows did one hop hold back in a window, and for which share of their time? Longest first.
-- Of several lengths of a flow's intervals the longest from `least_ns` to `most_ns` counts, or else, with `least_ns` 0,
-- the shortest. `data_bytes` is what the flow sent as long as it was held back, by the point that saw most of it.
WITH
-- part: held_there
sent AS (
    SELECT flow, toNullable(max(at_point)) AS data_bytes
    FROM (
        SELECT flow, point, sum(i.data_bytes) AS at_point
        FROM flow_intervals AS i
        INNER JOIN held AS h ON i.flow = h.flow
        WHERE slice BETWEEN intDiv({from_ns:Int64}, 60000000000) - 1 AND intDiv({to_ns:Int64}, 60000000000)
            AND flow IN (SELECT flow FROM held)
            AND i.time_ns >= h.first_ns
            AND i.time_ns < h.last_ns
        GROUP BY flow, point
    )
    GROUP BY flow
),
keys AS (
-- part: flow_keys
    WHERE flow IN (SELECT flow FROM held)
    GROUP BY flow
)
SELECT
    p.flow AS flow,
    p.held_share AS held_share,
    p.u_mean AS u_mean,
    p.u_max AS u_max,
    p.samples AS samples,
    p.first_ns AS first_ns,
    p.last_ns AS last_ns,
    s.data_bytes AS data_bytes,
    k.* EXCEPT (flow, owner)
FROM held AS p
LEFT JOIN sent AS s ON p.flow = s.flow
LEFT JOIN keys AS k ON p.flow = k.flow
WHERE has({tenants:Array(String)}, '*')
    OR p.flow IN (SELECT flow FROM flows WHERE has({tenants:Array(String)}, owner))
ORDER BY held_share DESC, flow
LIMIT {rows:UInt32}

-- How many flows of other tenants crossed one hop in a window, and how much did they send together?
-- Those that verdicts place there count, too, of which no telemetry names the hop, as in `link_held`; the window ends
-- where that one does. A flow counts with what it sent as long as it crossed the hop, as in `link_flows`.
WITH
-- part: held_there
named AS (
    SELECT
        flow,
        min(time_ns) AS first_ns,
        max(time_ns + interval_ns) AS last_ns
    FROM hop_intervals AS h
    WHERE
-- part: reaching
        AND h.time_ns <= {to_ns:Int64}
        AND node = {node:UInt32}
        AND port = {port:UInt32}
    GROUP BY flow
),
crossing AS (
    SELECT flow, first_ns, last_ns
    FROM (
        SELECT flow, first_ns, last_ns FROM named
        UNION ALL
        SELECT flow, first_ns, last_ns FROM held WHERE flow NOT IN (SELECT flow FROM named)
    )
    WHERE flow NOT IN (SELECT flow FROM flows WHERE hasAny({tenants:Array(String)}, ['*', owner]))
)
SELECT
    (SELECT count() FROM crossing) AS flows,
    sum(at_most) AS data_bytes
FROM (
    SELECT flow, max(at_point) AS at_most
    FROM (
        SELECT flow, point, sum(i.data_bytes) AS at_point
        FROM flow_intervals AS i
        INNER JOIN crossing AS c ON i.flow = c.flow
        WHERE
-- part: in_window
            AND flow IN (SELECT flow FROM crossing)
            AND i.time_ns >= c.first_ns
            AND i.time_ns < c.last_ns
-- part: not_elsewhere
        GROUP BY flow, point
    )
    GROUP BY flow
)

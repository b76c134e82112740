-- Which flows crossed one hop in a window, and how much did each send? Most bytes first.
-- Measured loads (INT) where there are any, else the rate and the delay term of CSIG added up.
-- A flow seen at several observation points counts with the point that saw most of it, and one that went another way
-- before or after with what it sent as long as it crossed the hop.
WITH crossing AS (
    SELECT
        flow,
-- part: link_load
        min(h.time_ns) AS first_ns,
        max(h.time_ns + h.interval_ns) AS last_ns
    FROM hop_intervals AS h
    WHERE
-- part: reaching
        AND h.time_ns < {to_ns:Int64}
        AND node = {node:UInt32}
        AND port = {port:UInt32}
    GROUP BY flow
),
sent AS (
    SELECT flow, toNullable(max(at_point)) AS data_bytes
    FROM (
        SELECT flow, point, sum(i.data_bytes) AS at_point
        FROM flow_intervals AS i
        INNER JOIN crossing AS c ON i.flow = c.flow
        WHERE
-- part: in_window
            AND i.time_ns < {to_ns:Int64}
            AND flow IN (SELECT flow FROM crossing)
            AND i.time_ns >= c.first_ns
            AND i.time_ns < c.last_ns
-- part: not_elsewhere
        GROUP BY flow, point
    )
    GROUP BY flow
),
keys AS (
-- part: flow_keys
    WHERE flow IN (SELECT flow FROM crossing)
    GROUP BY flow
)
SELECT
    c.flow AS flow,
    k.tenant AS tenant,
    k.vrf AS vrf,
    k.vni AS vni,
    k.src AS src,
    k.sport AS sport,
    k.dst AS dst,
    k.dport AS dport,
    k.protocol AS protocol,
    k.cc AS cc,
    s.data_bytes AS data_bytes,
    c.samples AS samples,
    c.u_mean AS u_mean,
    c.u_max AS u_max,
    c.first_ns AS first_ns,
    c.last_ns AS last_ns
FROM crossing AS c
LEFT JOIN sent AS s ON c.flow = s.flow
LEFT JOIN keys AS k ON c.flow = k.flow
WHERE hasAny({tenants:Array(String)}, ['*', k.owner])
ORDER BY data_bytes DESC, flow
LIMIT {rows:UInt32}

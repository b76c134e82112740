-- Which hops did each flow between two addresses cross in a window, by its stacks of telemetry, and when?
-- One row a flow and set of hops: a flow that changed its path has one for each, with the time of the first and the last
-- interval and how long the intervals are together.
SELECT
    flow,
    any(k.src) AS src,
    any(k.sport) AS sport,
    any(k.dst) AS dst,
    any(k.dport) AS dport,
    any(k.protocol) AS protocol,
    s.hops AS hops,
    min(s.time_ns) AS from_ns,
    max(s.time_ns + s.interval_ns) AS to_ns,
    sum(s.interval_ns) AS seen_ns
FROM (
    SELECT
        h.flow AS flow,
        h.time_ns AS time_ns,
        max(h.interval_ns) AS interval_ns,
        arraySort(groupUniqArray(toUInt64(h.node) * 4294967296 + h.port)) AS hops
    FROM hop_intervals AS h
    WHERE
-- part: reaching
        AND h.time_ns < {to_ns:Int64}
        AND h.source IN ('int', 'int_bound')
        AND h.node < 4294967294
        AND h.flow IN (
            SELECT flow FROM flows AS f
            WHERE f.src_hi = {src_hi:UInt64} AND f.src_lo = {src_lo:UInt64}
                AND f.dst_hi = {dst_hi:UInt64} AND f.dst_lo = {dst_lo:UInt64}
        )
    GROUP BY flow, time_ns
) AS s
INNER JOIN (
    SELECT
-- part: flow_ends
        flow
    FROM flows AS f
    WHERE f.src_hi = {src_hi:UInt64} AND f.src_lo = {src_lo:UInt64}
        AND f.dst_hi = {dst_hi:UInt64} AND f.dst_lo = {dst_lo:UInt64}
        AND hasAny({tenants:Array(String)}, ['*', f.owner])
    GROUP BY flow
) AS k ON s.flow = k.flow
GROUP BY flow, hops
ORDER BY flow, from_ns, hops
LIMIT {rows:UInt32}

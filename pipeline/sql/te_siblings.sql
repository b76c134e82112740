-- Which hops did each flow between two addresses cross in a window, by its stacks of telemetry?
SELECT
    flow,
    any(k.src) AS src,
    any(k.sport) AS sport,
    any(k.dst) AS dst,
    any(k.dport) AS dport,
    any(k.protocol) AS protocol,
    groupUniqArray(toUInt64(h.node) * 4294967296 + h.port) AS hops
FROM hop_intervals AS h
INNER JOIN (
    SELECT flow, any(f.src) AS src, any(f.sport) AS sport, any(f.dst) AS dst, any(f.dport) AS dport,
        any(f.protocol) AS protocol
    FROM flows AS f
    WHERE f.src_hi = {src_hi:UInt64} AND f.src_lo = {src_lo:UInt64}
        AND f.dst_hi = {dst_hi:UInt64} AND f.dst_lo = {dst_lo:UInt64}
        AND hasAny({tenants:Array(String)}, ['*', f.owner])
    GROUP BY flow
) AS k ON h.flow = k.flow
WHERE h.time_ns >= {from_ns:Int64}
    AND h.time_ns < {to_ns:Int64}
    AND h.source = 'int'
    AND h.node < 4294967294
GROUP BY flow
ORDER BY flow
LIMIT {rows:UInt32}

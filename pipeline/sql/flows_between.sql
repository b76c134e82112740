-- Which flows were seen between two addresses, in either direction? Newest first.
SELECT
    flow,
-- part: flow_ends
    any(f.tenant) AS tenant,
    any(f.vrf) AS vrf,
    any(f.vni) AS vni,
    min(f.first_ns) AS first_ns,
    max(f.last_ns) AS last_ns
FROM flows AS f
WHERE (f.src_hi, f.src_lo, f.dst_hi, f.dst_lo) IN (
    ({src_hi:UInt64}, {src_lo:UInt64}, {dst_hi:UInt64}, {dst_lo:UInt64}),
    ({dst_hi:UInt64}, {dst_lo:UInt64}, {src_hi:UInt64}, {src_lo:UInt64})
)
    AND hasAny({tenants:Array(String)}, ['*', f.owner])
GROUP BY flow
ORDER BY last_ns DESC, flow
LIMIT {rows:UInt32}

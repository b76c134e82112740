-- Which flows have these ends? Several, where tenants, networks or protocols share addresses; newest first.
-- protocol -1 means any.
SELECT
    flow,
    any(f.tenant) AS tenant,
    any(f.vrf) AS vrf,
    any(f.vni) AS vni,
    any(f.src) AS src,
    f.sport AS sport,
    any(f.dst) AS dst,
    f.dport AS dport,
    f.protocol AS protocol,
    any(f.conversation) AS conversation,
    any(f.direction) AS direction,
    min(f.first_ns) AS first_ns,
    max(f.last_ns) AS last_ns,
    any(f.cc) AS cc
FROM flows AS f
WHERE f.src_hi = {src_hi:UInt64} AND f.src_lo = {src_lo:UInt64}
    AND f.dst_hi = {dst_hi:UInt64} AND f.dst_lo = {dst_lo:UInt64}
    AND f.sport = {sport:UInt16} AND f.dport = {dport:UInt16}
    AND ({protocol:Int16} < 0 OR f.protocol = {protocol:Int16})
    AND hasAny({tenants:Array(String)}, ['*', f.owner])
GROUP BY flow, sport, dport, protocol
ORDER BY last_ns DESC, flow
LIMIT 16
SETTINGS max_threads = 1

-- Which flows have this address or this port at either end? Newest first.
-- any_address 1 and port -1 mean any; a before_ns from 0 on goes on behind the flow `after` that was last seen then.
-- An until_ns from 0 on means those known then and seen anew since, behind the flow `after`, by number.
-- Told are flows with frames from seen_from_ns to seen_to_ns, or before and after.
SELECT
    flow,
-- part: flow_network
-- part: flow_ends
    min(f.first_ns) AS first_ns,
    max(f.last_ns) AS last_ns,
    any(f.cc) AS cc
FROM flows AS f
WHERE (
        {any_address:UInt8} = 1
        OR (f.src_hi = {hi:UInt64} AND f.src_lo = {lo:UInt64})
        OR (f.dst_hi = {hi:UInt64} AND f.dst_lo = {lo:UInt64})
    )
    AND hasAny({tenants:Array(String)}, ['*', f.owner])
-- filter: flows f.flow
    AND ({port:Int32} < 0 OR f.sport = {port:Int32} OR f.dport = {port:Int32})
GROUP BY flow
HAVING if(
        {until_ns:Int64} < 0,
        {before_ns:Int64} < 0 OR (last_ns, -toInt256(flow)) < ({before_ns:Int64}, -toInt256({after:UInt64})),
        last_ns > {until_ns:Int64} AND first_ns <= {until_ns:Int64} AND flow > {after:UInt64}
    )
    AND last_ns >= {seen_from_ns:Int64}
    AND first_ns <= {seen_to_ns:Int64}
ORDER BY if({until_ns:Int64} < 0, last_ns, 0) DESC, flow
LIMIT {rows:UInt32}

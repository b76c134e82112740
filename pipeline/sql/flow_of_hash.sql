-- Which flow has this hash?
SELECT
    flow,
-- part: flow_network
-- part: flow_ends
    any(f.conversation) AS conversation,
    any(f.direction) AS direction,
    min(f.first_ns) AS first_ns,
    max(f.last_ns) AS last_ns,
    any(f.cc) AS cc
FROM flows AS f
WHERE f.flow = {flow:UInt64}
    AND hasAny({tenants:Array(String)}, ['*', f.owner])
GROUP BY flow
SETTINGS max_threads = 1

-- What does the topology in force at a time say of each hop?
-- Hosts at the other end of a hop are named to those who may see them.
WITH hidden AS (
    SELECT host
    FROM hosts
    WHERE valid_from_ns <= {at_ns:Int64}
        AND valid_from_ns >= (SELECT max(valid_from_ns) FROM hops WHERE valid_from_ns <= {at_ns:Int64})
        AND NOT hasAny({tenants:Array(String)}, ['*', tenant])
)
SELECT
    node,
    port,
    argMax(h.topology, h.valid_from_ns) AS topology,
    argMax(h.device, h.valid_from_ns) AS device,
    argMax(h.interface, h.valid_from_ns) AS interface,
    argMax(h.stage, h.valid_from_ns) AS stage,
    argMax(h.orientation, h.valid_from_ns) AS orientation,
    argMax(h.capacity_bps, h.valid_from_ns) AS capacity_bps,
    argMax(if(h.peer_device IN hidden, '', h.peer_device), h.valid_from_ns) AS peer_device,
    argMax(if(h.peer_device IN hidden, '', h.peer_interface), h.valid_from_ns) AS peer_interface
FROM hops AS h
WHERE valid_from_ns <= {at_ns:Int64}
    AND valid_from_ns >= (SELECT max(valid_from_ns) FROM hops WHERE valid_from_ns <= {at_ns:Int64})
GROUP BY node, port
ORDER BY device, interface

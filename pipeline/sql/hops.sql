-- What does the topology in force at a time say of each hop?
-- Hosts at the other end of a hop are named to those who may see them.
WITH hidden AS (
    SELECT host
    FROM hosts
    WHERE
-- part: in_force
        AND NOT hasAny({tenants:Array(String)}, ['*', tenant])
)
SELECT
    node,
    port,
    argMax(h.topology, (h.told_ns, h.valid_from_ns)) AS topology,
    argMax(h.device, (h.told_ns, h.valid_from_ns)) AS device,
    argMax(h.interface, (h.told_ns, h.valid_from_ns)) AS interface,
    argMax(h.stage, (h.told_ns, h.valid_from_ns)) AS stage,
    argMax(h.orientation, (h.told_ns, h.valid_from_ns)) AS orientation,
    argMax(h.capacity_bps, (h.told_ns, h.valid_from_ns)) AS capacity_bps,
    argMax(if(h.peer_device IN hidden, '', h.peer_device), (h.told_ns, h.valid_from_ns)) AS peer_device,
    argMax(if(h.peer_device IN hidden, '', h.peer_interface), (h.told_ns, h.valid_from_ns)) AS peer_interface
FROM hops AS h
WHERE
-- part: in_force
GROUP BY node, port
ORDER BY device, interface

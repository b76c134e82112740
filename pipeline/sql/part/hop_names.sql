-- Names of hops by the versions of the topology in force in the window, whose upper end is exclusive.
    SELECT
        node,
        port,
        argMax(h.device, (h.told_ns, h.valid_from_ns)) AS device,
        argMax(h.interface, (h.told_ns, h.valid_from_ns)) AS interface,
        argMax(h.stage, (h.told_ns, h.valid_from_ns)) AS stage,
        argMax(h.orientation, (h.told_ns, h.valid_from_ns)) AS orientation,
        argMax(h.capacity_bps, (h.told_ns, h.valid_from_ns)) AS capacity_bps
    FROM hops AS h
    WHERE valid_from_ns < {to_ns:Int64}
        AND (told_ns, valid_from_ns) >= (SELECT max((told_ns, valid_from_ns)) FROM hops WHERE valid_from_ns <= {from_ns:Int64})
    GROUP BY node, port

-- How loaded was each hop of one flow in each interval of a window, by telemetry and observation point?
WITH names AS (
    SELECT
        node,
        port,
        argMax(h.device, h.valid_from_ns) AS device,
        argMax(h.interface, h.valid_from_ns) AS interface
    FROM hops AS h
    WHERE valid_from_ns <= {to_ns:Int64}
        AND valid_from_ns >= (SELECT max(valid_from_ns) FROM hops WHERE valid_from_ns <= {from_ns:Int64})
    GROUP BY node, port
),
seen AS (
    SELECT
        time_ns,
        interval_ns,
        point,
        source,
        hop_index,
        node,
        port,
        sum(h.samples) AS samples,
        sum(h.u_sum_n) / samples * 1e-9 AS u_mean,
        max(h.u_max_n) * 1e-9 AS u_max,
        sum(h.queue_sum_bytes) / nullIf(samples, 0) AS queue_mean_bytes,
        max(h.queue_max_bytes) AS queue_max_bytes
    FROM hop_intervals AS h
    WHERE time_ns > {from_ns:Int64} - 60000000000
        AND time_ns + interval_ns > {from_ns:Int64}
        AND time_ns <= {to_ns:Int64}
        AND flow = {flow:UInt64}
        AND (node, port) != (4294967295, 4294967295)
    GROUP BY time_ns, interval_ns, point, source, hop_index, node, port
)
SELECT
    s.time_ns AS time_ns,
    s.interval_ns AS interval_ns,
    s.point AS point,
    s.source AS source,
    s.hop_index AS hop_index,
    s.node AS node,
    s.port AS port,
    multiIf(
        n.device != '', n.device,
        s.node = 4294967295, 'locator',
        s.node = 4294967294, 'hop',
        concat('node ', toString(s.node))
    ) AS device,
    multiIf(
        n.device != '', n.interface,
        s.node >= 4294967294, toString(s.port),
        s.port = 4294967295, 'port not told',
        concat('port ', toString(s.port))
    ) AS interface,
    s.samples AS samples,
    s.u_mean AS u_mean,
    s.u_max AS u_max,
    s.queue_mean_bytes AS queue_mean_bytes,
    s.queue_max_bytes AS queue_max_bytes
FROM seen AS s
LEFT JOIN names AS n ON s.node = n.node AND s.port = n.port
ORDER BY time_ns, hop_index, node, port, source, point

-- Links and their load in a window, a row each: what filters over links are about.
    SELECT
        here.node AS node,
        here.port AS port,
-- part: hop_named
        here.* EXCEPT (node, port)
    FROM (
        SELECT
            node,
            port,
-- part: link_load
            quantilesExactWeightedIf(0.5, 0.9, 0.99)(
                h.u_sum_n / greatest(h.samples, 1) * 1e-9, h.samples, h.source = 'int'
            ) AS of_stacks,
            quantilesExactWeightedIf(0.5, 0.9, 0.99)(
                h.u_sum_n / greatest(h.samples, 1) * 1e-9, h.samples,
                match(h.source, '(bound|abw|utilization)$')
            ) AS of_bounds,
            if(measured > 0, of_stacks, of_bounds) AS told,
            ifNotFinite(told[1], NULL) AS u_p50,
            ifNotFinite(told[2], NULL) AS u_p90,
            ifNotFinite(told[3], NULL) AS u_p99,
            sum(h.queue_sum_bytes) / nullIf(sumIf(h.samples, isNotNull(h.queue_sum_bytes)), 0)
                AS queue_mean_bytes,
            max(h.queue_max_bytes) AS queue_max_bytes,
            uniqExact(h.flow) AS flows
        FROM hop_intervals AS h
        WHERE
-- part: reaching
        AND h.time_ns < {to_ns:Int64}
        GROUP BY node, port
    ) AS here
    LEFT JOIN (
-- part: hop_names
    ) AS n ON here.node = n.node AND here.port = n.port

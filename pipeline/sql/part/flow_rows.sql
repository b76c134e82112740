-- Flows and their bottleneck in a window, a row each: what filters over flows are about.
    SELECT k.*, j.* EXCEPT (flow)
    FROM (
        SELECT
            flow,
-- part: flow_network
-- part: flow_ends
            any(f.src_hi) AS src_hi,
            any(f.src_lo) AS src_lo,
            any(f.dst_hi) AS dst_hi,
            any(f.dst_lo) AS dst_lo,
            max(f.owner) AS owner,
            any(f.dscp) AS dscp,
            any(f.cc) AS cc
        FROM flows AS f
        GROUP BY flow
    ) AS k
    LEFT JOIN (
    SELECT
        w.* EXCEPT (node, port, device, interface, stage, orientation, capacity_bps),
-- part: named_now
    FROM (
        SELECT
            i.flow AS flow,
            argMax(tuple(i.node), i.weight).1 AS node,
            argMax(tuple(i.port), i.weight).1 AS port,
            argMax(i.kind, i.weight) AS kind,
            argMax(i.device, i.weight) AS device,
            argMax(i.interface, i.weight) AS interface,
            argMax(i.stage, i.weight) AS stage,
            argMax(i.orientation, i.weight) AS orientation,
            argMax(i.capacity_bps, i.weight) AS capacity_bps,
            argMax(i.reroute_helps, i.weight) AS reroute_helps,
            sum(i.u_mean * i.samples) / nullIf(sumIf(i.samples, isNotNull(i.u_mean)), 0) AS u_mean,
            quantilesExactWeightedIf(0.5, 0.9, 0.99)(
                assumeNotNull(i.u_mean), i.samples, isNotNull(i.u_mean)
            ) AS quantiles,
            if(isNull(u_mean), NULL, quantiles[1]) AS u_p50,
            if(isNull(u_mean), NULL, quantiles[2]) AS u_p90,
            if(isNull(u_mean), NULL, quantiles[3]) AS u_p99,
            max(i.u_max) AS u_max,
            sum(i.queue_mean_bytes * i.samples)
                / nullIf(sumIf(i.samples, isNotNull(i.queue_mean_bytes)), 0) AS queue_mean_bytes,
            sum(i.samples) AS samples,
            avg(i.confidence) AS confidence,
            avg(i.completeness) AS completeness,
            max(i.contributors) AS contributors,
            max(i.victims) AS victims
        FROM (
            SELECT
                i.*,
                (
-- part: holding
                    ,
                    ifNull(i.u_mean, 0),
                    i.time_ns
                ) AS weight
            FROM verdicts AS i FINAL
            INNER JOIN (
-- part: lengths
            ) AS l ON i.flow = l.flow
            WHERE i.interval_ns = l.length
                AND
-- part: in_window
        ) AS i
        GROUP BY flow
    ) AS w
    LEFT JOIN (
-- part: hop_names
    ) AS n ON w.node = n.node AND w.port = n.port
    ) AS j ON k.flow = j.flow
    SETTINGS join_use_nulls = 1

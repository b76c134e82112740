-- Which flows were bottlenecked in a window, and where longest? The worst first, one hop a flow, of equals the later.
-- `share` is the share of the flow's intervals in which this hop held it back; the worst are those
-- with the largest mean load times that share. Of several lengths of a flow's intervals the longest from `least_ns`
-- to `most_ns` counts, or else, with `least_ns` 0, the shortest.
WITH fitting AS (
-- part: lengths
),
per_hop AS (
    SELECT
        flow,
        interval_ns,
-- part: holding
        AS congested,
        node,
        port,
        argMax(i.kind, i.samples) AS kind,
        -- As they were named last, where the topology names them no more.
        argMax((i.device, i.interface, i.stage, i.orientation, i.capacity_bps), i.time_ns) AS named,
        named.1 AS device,
        named.2 AS interface,
        named.3 AS stage,
        named.4 AS orientation,
        named.5 AS capacity_bps,
        sum(i.u_mean * i.samples) AS load,
        load / nullIf(sumIf(i.samples, isNotNull(i.u_mean)), 0) AS u_mean,
        max(i.u_max) AS u_max,
        sum(i.queue_mean_bytes * i.samples)
            / nullIf(sumIf(i.samples, isNotNull(i.queue_mean_bytes)), 0) AS queue_mean_bytes,
        sum(i.samples) AS samples,
        avg(i.confidence) AS confidence,
        max(i.contributors) AS contributors,
        argMax(i.reroute_helps, i.samples) AS reroute_helps,
        min(i.time_ns) AS since_ns,
        max(i.time_ns + i.interval_ns) AS until_ns,
        count() AS intervals
    FROM verdicts AS i FINAL
    PREWHERE
-- part: in_window
        AND (i.flow, i.interval_ns) IN (SELECT flow, length FROM fitting)
    WHERE true
-- filter: flows i.flow
        AND (
            has({tenants:Array(String)}, '*')
            OR i.flow IN (SELECT flow FROM flows WHERE has({tenants:Array(String)}, owner))
        )
    GROUP BY flow, interval_ns, congested, node, port
),
worst AS (
    SELECT *
    FROM (
        SELECT *, intervals / sum(intervals) OVER (PARTITION BY flow) AS share
        FROM per_hop
    )
    WHERE congested
    ORDER BY intervals DESC, until_ns DESC, node, port
    LIMIT 1 BY flow
),
shown AS (
    SELECT
        w.* EXCEPT (named, device, interface, stage, orientation, capacity_bps),
-- part: named_now
    FROM (
        SELECT *
        FROM worst
        ORDER BY u_mean * share DESC NULLS LAST, flow
        LIMIT {rows:UInt32}
    ) AS w
    LEFT JOIN (
-- part: hop_names
    ) AS n ON w.node = n.node AND w.port = n.port
)
SELECT
    w.*,
    k.* EXCEPT (flow)
FROM shown AS w
LEFT JOIN (
-- part: flow_keys
    GROUP BY flow
) AS k ON w.flow = k.flow
ORDER BY u_mean * share DESC NULLS LAST, flow

-- Which flows were bottlenecked in a window, and where longest? The worst first, one hop a flow, of equals the later.
-- `share` is the share of the flow's intervals in which this hop held it back; the worst are those
-- with the largest mean load times that share. Of several lengths of a flow's intervals the longest from `least_ns`
-- to `most_ns` counts, or else, with `least_ns` 0, the shortest.
WITH per_hop AS (
    SELECT
        flow,
        interval_ns,
-- part: holding
        AS congested,
        node,
        port,
        argMax(i.kind, i.samples) AS kind,
        any(i.device) AS device,
        any(i.interface) AS interface,
        any(i.stage) AS stage,
        any(i.orientation) AS orientation,
        any(i.capacity_bps) AS capacity_bps,
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
    WHERE
-- part: in_window
-- filter: flows i.flow
        AND (
            has({tenants:Array(String)}, '*')
            OR i.flow IN (SELECT flow FROM flows WHERE has({tenants:Array(String)}, owner))
        )
    GROUP BY flow, interval_ns, congested, node, port
),
fitting AS (
    SELECT
        flow,
-- part: fitting
        AS length
    FROM per_hop
    GROUP BY flow
),
worst AS (
    SELECT *
    FROM (
        SELECT p.*, p.intervals / sum(p.intervals) OVER (PARTITION BY p.flow) AS share
        FROM per_hop AS p
        INNER JOIN fitting AS f ON p.flow = f.flow
        WHERE p.interval_ns = f.length
    )
    WHERE congested
    ORDER BY intervals DESC, until_ns DESC, node, port
    LIMIT 1 BY flow
),
keys AS (
-- part: flow_keys
    GROUP BY flow
)
SELECT
    w.*,
    k.* EXCEPT (flow)
FROM worst AS w
LEFT JOIN keys AS k ON w.flow = k.flow
ORDER BY u_mean * share DESC NULLS LAST, flow
LIMIT {rows:UInt32}

-- Which flows did one hop hold back in a window, and for which share of their time? Longest first.
-- Of several lengths of a flow's intervals the longest from `least_ns` to `most_ns` counts, or else, with `least_ns` 0,
-- the shortest.
WITH per_length AS (
    SELECT
        flow,
        interval_ns,
        countIf(here) / count() AS held_share,
        sumIf(i.u_mean * i.samples, here) / nullIf(sumIf(i.samples, here AND isNotNull(i.u_mean)), 0) AS u_mean,
        maxIf(i.u_max, here) AS u_max,
        sumIf(i.samples, here) AS samples,
        minIf(i.time_ns, here) AS first_ns,
        maxIf(i.time_ns + i.interval_ns, here) AS last_ns
    FROM (
        SELECT
            *,
            slice,
            ifNull(node = {node:UInt32} AND port = {port:UInt32}, 0)
                AND
-- part: holding
            AS here
        FROM verdicts AS i FINAL
    ) AS i
    WHERE
-- part: in_window
        AND (
            has({tenants:Array(String)}, '*')
            OR i.flow IN (SELECT flow FROM flows WHERE has({tenants:Array(String)}, owner))
        )
    GROUP BY flow, interval_ns
),
fitting AS (
    SELECT
        flow,
-- part: fitting
        AS length
    FROM per_length
    GROUP BY flow
),
keys AS (
-- part: flow_keys
    WHERE flow IN (SELECT flow FROM per_length WHERE held_share > 0)
    GROUP BY flow
)
SELECT
    p.flow AS flow,
    p.held_share AS held_share,
    p.u_mean AS u_mean,
    p.u_max AS u_max,
    p.samples AS samples,
    p.first_ns AS first_ns,
    p.last_ns AS last_ns,
    k.* EXCEPT (flow, owner)
FROM per_length AS p
INNER JOIN fitting AS f ON p.flow = f.flow AND p.interval_ns = f.length
LEFT JOIN keys AS k ON p.flow = k.flow
WHERE p.held_share > 0
ORDER BY held_share DESC, flow
LIMIT {rows:UInt32}

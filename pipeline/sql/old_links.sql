-- How loaded was each hop over time, as minutes or hours keep it when intervals are gone? As `hot_links` tells it.
-- `rollup` is link_minutes or link_hours; node -1 means all hops. Means are of log buckets, 4.4 % off at most; queues are
-- not kept, and flows are counted to about 6 %.
WITH
-- part: te_functions
(buckets, counts, first, fewest, most) -> arraySum(
    (b, c) -> c *
-- part: middle
    , buckets, counts
) / nullIf(arraySum(counts), 0) AS mean,
hot AS (
    SELECT node, port
    FROM {rollup:Identifier} AS r
    WHERE r.time_ns >= {from_ns:Int64}
        AND r.time_ns < {to_ns:Int64}
        AND r.samples > 0
        AND (node, port) != (4294967295, 4294967295)
        AND ({node:Int64} < 0 OR (r.node = {node:Int64} AND r.port = {port:Int64}))
-- part: hottest
),
names AS (
-- part: hop_names
),
by_family AS (
    SELECT
        intDiv(r.time_ns, {step_ns:Int64}) * {step_ns:Int64} AS time_ns,
        node,
        port,
-- part: family
        sumIf(r.samples, notEmpty(r.u_hist.1)) AS samples,
        mean(groupArrayArray(r.u_hist.1), groupArrayArray(r.u_hist.2), 20, 0, max(r.u_max_n)) * 1e-9 AS u_mean,
        max(r.u_max_n) AS most,
        estimate(largest(touched(groupArrayArray(r.flows.1), groupArrayArray(r.flows.2)))) AS flows
    FROM {rollup:Identifier} AS r
    WHERE r.time_ns >= {from_ns:Int64}
        AND r.time_ns < {to_ns:Int64}
        AND (r.node, r.port) IN hot
    GROUP BY time_ns, node, port, family
),
cells AS (
    SELECT
        time_ns,
        node,
        port,
        argMinIf((f.u_mean, f.most, f.samples), indexOf(['int', 'aecn', 'csig_echo', 'csig'], f.family), isNotNull(f.u_mean)) AS told,
        max(f.flows) AS flows,
        max(f.most) AS hottest_n
    FROM by_family AS f
    GROUP BY time_ns, node, port
)
SELECT
    here.time_ns AS time_ns,
    here.node AS node,
    here.port AS port,
-- part: hop_named
    here.told.1 AS u_mean,
    here.told.2 * 1e-9 AS u_max,
    CAST(NULL AS Nullable(Float64)) AS queue_mean_bytes,
    CAST(NULL AS Nullable(UInt64)) AS queue_max_bytes,
    here.told.3 AS samples,
    here.flows AS flows
FROM cells AS here
LEFT JOIN names AS n ON here.node = n.node AND here.port = n.port
ORDER BY max(here.hottest_n) OVER (PARTITION BY here.node, here.port) DESC, node, port, time_ns

-- How loaded was each hop over time? The hops with the largest load in the window, one row a hop and step.
-- Measured loads (INT) where a hop has them, else the rate and the delay term that CSIG locators give,
-- added up. Unnamed where the topology lacks the hop. `step_ns` is the width of a cell; the pair
-- 4294967295, 4294967295 is "no hop replaced the tag", other large ids are those of pipeline/reserved.py.
WITH hot AS (
    SELECT node, port
    FROM hop_intervals AS h
    WHERE
-- part: reaching
        AND h.time_ns < {to_ns:Int64} AND (node, port) != (4294967295, 4294967295)
-- filter: links (node, port)
-- part: hottest
),
names AS (
-- part: hop_names
),
cells AS (
    SELECT
        intDiv(h.time_ns, {step_ns:Int64}) * {step_ns:Int64} AS time_ns,
        node,
        port,
-- part: link_load
        sum(h.queue_sum_bytes) / nullIf(sumIf(h.samples, isNotNull(h.queue_sum_bytes)), 0)
            AS queue_mean_bytes,
        max(h.queue_max_bytes) AS queue_max_bytes,
        uniqExact(h.flow) AS flows,
        max(h.u_max_n) AS hottest_n
    FROM hop_intervals AS h
    WHERE
-- part: reaching
        AND h.time_ns < {to_ns:Int64}
        AND (h.node, h.port) IN hot
    GROUP BY time_ns, node, port
)
SELECT
    here.time_ns AS time_ns,
    here.node AS node,
    here.port AS port,
-- part: hop_named
    here.u_mean AS u_mean,
    here.u_max AS u_max,
    here.queue_mean_bytes AS queue_mean_bytes,
    here.queue_max_bytes AS queue_max_bytes,
    here.samples AS samples,
    here.flows AS flows
FROM cells AS here
LEFT JOIN names AS n ON here.node = n.node AND here.port = n.port
ORDER BY max(here.hottest_n) OVER (PARTITION BY here.node, here.port) DESC, node, port, time_ns

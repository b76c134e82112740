-- How loaded was each hop of one flow in each interval of a window, by telemetry and observation point?
-- Intervals shorter than `step_ns` are added up to that length; `least_ns`, `begins_ns` and `ends_ns` are those of
-- `flow_signals.sql`.
WITH names AS (
-- part: hop_names
),
seen AS (
    SELECT
        intDiv(h.time_ns, greatest(h.interval_ns, {step_ns:Int64})) * greatest(h.interval_ns, {step_ns:Int64})
            AS time_ns,
        greatest(h.interval_ns, {step_ns:Int64}) AS interval_ns,
        point,
        source,
        hop_index,
        node,
        port,
        min(h.interval_ns) AS least_ns,
        min(h.time_ns) AS begins_ns,
        max(h.time_ns + h.interval_ns) AS ends_ns,
        sum(h.samples) AS samples,
        sum(h.u_sum_n) / samples * 1e-9 AS u_mean,
        max(h.u_max_n) * 1e-9 AS u_max,
        sum(h.queue_sum_bytes) / nullIf(sumIf(h.samples, isNotNull(h.queue_sum_bytes)), 0) AS queue_mean_bytes,
        max(h.queue_max_bytes) AS queue_max_bytes,
        -- A count that fell stands below 0: what was sent is not known then.
        if(
            min(h.sent_first_ns) < 0,
            NULL,
            (max(h.sent_last_ns) - min(h.sent_first_ns)) / nullIf(max(h.ts_last_ns) - min(h.ts_first_ns), 0)
        ) AS rate_u
    FROM hop_intervals AS h
    WHERE
-- part: reaching
        AND h.time_ns < {to_ns:Int64}
        AND flow = {flow:UInt64}
        AND (node, port) != (4294967295, 4294967295)
    GROUP BY time_ns, interval_ns, point, source, hop_index, node, port
)
SELECT
    here.time_ns AS time_ns,
    here.interval_ns AS interval_ns,
    here.least_ns AS least_ns,
    here.begins_ns AS begins_ns,
    here.ends_ns AS ends_ns,
    here.point AS point,
    here.source AS source,
    here.hop_index AS hop_index,
    here.node AS node,
    here.port AS port,
-- part: hop_named
    here.samples AS samples,
    here.u_mean AS u_mean,
    here.u_max AS u_max,
    here.queue_mean_bytes AS queue_mean_bytes,
    here.queue_max_bytes AS queue_max_bytes,
    here.rate_u AS rate_u
FROM seen AS here
LEFT JOIN names AS n ON here.node = n.node AND here.port = n.port
ORDER BY time_ns, hop_index, node, port, source, point

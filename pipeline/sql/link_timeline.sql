-- How loaded was one hop over time?
SELECT
    intDiv(h.time_ns, {step_ns:Int64}) * {step_ns:Int64} AS time_ns,
-- part: link_load
    sum(h.queue_sum_bytes) / nullIf(sumIf(h.samples, isNotNull(h.queue_sum_bytes)), 0)
        AS queue_mean_bytes,
    max(h.queue_max_bytes) AS queue_max_bytes,
    uniqExact(h.flow) AS flows
FROM hop_intervals AS h
WHERE
-- part: reaching
    AND h.time_ns < {to_ns:Int64}
    AND node = {node:UInt32}
    AND port = {port:UInt32}
GROUP BY time_ns
ORDER BY time_ns

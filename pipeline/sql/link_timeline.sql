-- How loaded was one hop over time?
SELECT
    intDiv(h.time_ns, {step_ns:Int64}) * {step_ns:Int64} AS time_ns,
    sumIf(h.samples, h.source = 'int') AS measured,
    sum(h.samples) AS samples,
    if(
        measured > 0,
        sumIf(h.u_sum_n, h.source = 'int') / measured,
        ifNotFinite(sumIf(h.u_sum_n, match(h.source, '(abw|utilization)$'))
            / sumIf(h.samples, match(h.source, '(abw|utilization)$')), 0)
        + ifNotFinite(sumIf(h.u_sum_n, endsWith(h.source, 'delay'))
            / sumIf(h.samples, endsWith(h.source, 'delay')), 0)
    ) * 1e-9 AS u_mean,
    if(
        measured > 0,
        maxIf(h.u_max_n, h.source = 'int'),
        maxIf(h.u_max_n, match(h.source, '(abw|utilization)$'))
        + maxIf(h.u_max_n, endsWith(h.source, 'delay'))
    ) * 1e-9 AS u_max,
    sum(h.queue_sum_bytes) / nullIf(sumIf(h.samples, isNotNull(h.queue_sum_bytes)), 0)
        AS queue_mean_bytes,
    max(h.queue_max_bytes) AS queue_max_bytes,
    uniqExact(h.flow) AS flows
FROM hop_intervals AS h
WHERE h.time_ns >= {from_ns:Int64}
    AND h.time_ns < {to_ns:Int64}
    AND node = {node:UInt32}
    AND port = {port:UInt32}
GROUP BY time_ns
ORDER BY time_ns

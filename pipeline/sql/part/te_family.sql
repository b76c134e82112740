-- A rollup's sums by kind of telemetry: quantiles of u', utilisation, bandwidth and delay, then counts of flows.
-- The engine plans what WITH calls a function anew at each use, and what it is given at each place in it where that
-- stands: so each is used once, on an array.
-- part: family
        sum(r.samples) AS samples,
        sumIf(r.samples, notEmpty(r.u_hist.1)) AS u_samples,
        arrayMap(m -> quantiles(m.1, m.2, m.3, m.4, m.5), [
            (groupArrayArray(r.u_hist.1), groupArrayArray(r.u_hist.2), 20, 0, max(r.u_max_n)),
            (groupArrayArray(r.utilization_hist.1), groupArrayArray(r.utilization_hist.2), 20, 0, max(r.utilization_max_n)),
            (groupArrayArray(r.abw_hist.1), groupArrayArray(r.abw_hist.2), 17, ifNull(min(r.abw_min_bps), 0), max(r.abw_max_bps)),
            (groupArrayArray(r.delay_hist.1), groupArrayArray(r.delay_hist.2), 3, 0, max(r.delay_max_ns))
        ]) AS told,
        max(r.u_max_n) AS u_max_n,
        max(r.utilization_max_n) AS utilization_max_n,
        min(r.abw_min_bps) AS abw_min_bps,
        max(r.abw_max_bps) AS abw_max_bps,
        max(r.delay_max_ns) AS delay_max_ns,
        sum(r.data_bytes) AS data_bytes,
        sum(r.affected_bytes) AS affected_bytes,
        sum(r.data_frames) AS data_frames,
        sum(r.told_frames) AS told_frames,
        sum(r.missed_frames) AS missed_frames,
        arrayMap(m -> estimate(m), arrayMap(m -> largest(m), arrayMap(m -> touched(m.1, m.2), [
            (groupArrayArray(r.flows.1), groupArrayArray(r.flows.2)),
            (groupArrayArray(r.affected_flows.1), groupArrayArray(r.affected_flows.2))
        ]))) AS met

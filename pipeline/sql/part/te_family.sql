-- A rollup's sums by kind of telemetry.
        multiIf(
            startsWith(r.source, 'csig_echo'), 'csig_echo',
            startsWith(r.source, 'csig'), 'csig',
            r.source
        ) AS family,
        sum(r.samples) AS samples,
        quantiles(groupArrayArray(r.u_hist.1), groupArrayArray(r.u_hist.2), 20, max(r.u_max_n)) AS u_told,
        max(r.u_max_n) AS u_max_n,
        quantiles(groupArrayArray(r.utilization_hist.1), groupArrayArray(r.utilization_hist.2), 20, max(r.utilization_max_n)) AS utilization_told,
        max(r.utilization_max_n) AS utilization_max_n,
        quantiles(groupArrayArray(r.abw_hist.1), groupArrayArray(r.abw_hist.2), 17, max(r.abw_max_bps)) AS abw_told,
        min(r.abw_min_bps) AS abw_min_bps,
        max(r.abw_max_bps) AS abw_max_bps,
        quantiles(groupArrayArray(r.delay_hist.1), groupArrayArray(r.delay_hist.2), 3, max(r.delay_max_ns)) AS delay_told,
        max(r.delay_max_ns) AS delay_max_ns,
        sum(r.data_bytes) AS data_bytes,
        sum(r.affected_bytes) AS affected_bytes,
        sum(r.data_frames) AS data_frames,
        estimate(largest(touched(groupArrayArray(r.flows.1), groupArrayArray(r.flows.2)))) AS flows,
        estimate(largest(touched(groupArrayArray(r.affected_flows.1), groupArrayArray(r.affected_flows.2)))) AS affected_flows

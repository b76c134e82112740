-- A rollup's sums by kind of telemetry.
        multiIf(
            startsWith(r.source, 'csig_echo'), 'csig_echo',
            startsWith(r.source, 'csig'), 'csig',
            r.source
        ) AS family,
        sum(r.samples) AS samples,
        quantiles(sumMap(r.u_hist), 20, max(r.u_max_n)) AS u_told,
        max(r.u_max_n) AS u_max_n,
        quantiles(sumMap(r.utilization_hist), 20, max(r.utilization_max_n)) AS utilization_told,
        max(r.utilization_max_n) AS utilization_max_n,
        quantiles(sumMap(r.abw_hist), 17, max(r.abw_max_bps)) AS abw_told,
        min(r.abw_min_bps) AS abw_min_bps,
        max(r.abw_max_bps) AS abw_max_bps,
        quantiles(sumMap(r.delay_hist), 3, max(r.delay_max_ns)) AS delay_told,
        max(r.delay_max_ns) AS delay_max_ns,
        sum(r.data_bytes) AS data_bytes,
        sum(r.affected_bytes) AS affected_bytes,
        sum(r.data_frames) AS data_frames,
        estimate(maxMap(r.flows).2) AS flows,
        estimate(maxMap(r.affected_flows).2) AS affected_flows

-- Of each metric the kind of telemetry that tells it best: its name, quantiles, and the extremes.
        -- Behind the load; where none tells it, of what has most.
        if(
            max(f.u_samples) > 0,
            argMinIf(f.u_samples, indexOf(['int', 'aecn', 'csig_echo', 'csig'], f.family), notEmpty(f.told[1])),
            max(f.samples)
        ) AS samples,
        argMinIf((f.family, f.told[1], f.u_max_n), indexOf(['int', 'aecn', 'csig_echo', 'csig'], f.family), notEmpty(f.told[1])) AS u,
        argMinIf((f.family, f.told[2], f.utilization_max_n), indexOf(['int', 'csig_echo', 'csig', 'aecn'], f.family), notEmpty(f.told[2])) AS utilization,
        argMinIf((f.family, f.told[3], f.abw_max_bps, f.abw_min_bps), indexOf(['csig_echo', 'csig', 'int', 'aecn'], f.family), notEmpty(f.told[3])) AS abw,
        argMinIf((f.family, f.told[4], f.delay_max_ns), indexOf(['int', 'csig_echo', 'csig'], f.family), notEmpty(f.told[4])) AS delay,
        sum(f.data_bytes) AS data_bytes,
        sum(f.affected_bytes) AS affected_bytes,
        sum(f.data_frames) AS data_frames,
        -- Rows of before have samples alone.
        if(sum(f.told_frames) = 0, max(f.samples), sum(f.told_frames)) AS told_frames,
        sum(f.data_frames) + sum(f.missed_frames) AS sent_frames,
        max(f.met[1]) AS flows,
        max(f.met[2]) AS affected_flows

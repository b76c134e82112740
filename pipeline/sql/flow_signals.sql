-- What did one flow do in each interval of a window, at each observation point, and in which state was it?
SELECT
    time_ns,
    interval_ns,
    point,
    frames,
    bytes,
    data_bytes,
    data_frames,
    acks,
    acked_bytes,
    marked_bytes,
    ce_frames,
    decisions,
    U,
    W,
    Wc,
    R,
    alpha,
    inflight_bytes,
    feedback,
    feedback_told_apart,
    feedback_valid,
    feedback_invalid,
    feedback_replayed,
    feedback_backwards,
    aecn_samples,
    aecn_u_sum_n / nullIf(aecn_samples, 0) * 1e-9 AS aecn_u_mean,
    aecn_u_max_n * 1e-9 AS aecn_u_max,
    aecn_queue_delay_sum / nullIf(aecn_samples, 0) AS aecn_queue_delay_mean,
    aecn_congested_hops_max
FROM flow_intervals FINAL
WHERE flow = {flow:UInt64}
    AND slice BETWEEN intDiv({from_ns:Int64}, 60000000000) - 1 AND intDiv({to_ns:Int64}, 60000000000)
    AND time_ns > {from_ns:Int64} - 60000000000
    AND time_ns + interval_ns > {from_ns:Int64}
    AND time_ns <= {to_ns:Int64}
ORDER BY time_ns, interval_ns, point
SETTINGS max_threads = 1

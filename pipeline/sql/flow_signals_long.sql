-- What did one flow do in each second, minute or hour of a long window, at each observation point?
-- `rollup` is flow_seconds, flow_minutes or flow_hours, `step_ns` its width or several of it; states are the last ones.
-- A row has all of its time, so the window is to begin and to end with whole steps.
SELECT
    intDiv(r.time_ns, {step_ns:Int64}) * {step_ns:Int64} AS time_ns,
    {step_ns:Int64} AS interval_ns,
    point,
    {step_ns:Int64} AS least_ns,
    time_ns AS begins_ns,
    begins_ns + least_ns AS ends_ns,
    sum(r.frames) AS frames,
    sum(r.bytes) AS bytes,
    sum(r.data_bytes) AS data_bytes,
    sum(r.data_frames) AS data_frames,
    sum(r.acks) AS acks,
    sum(r.acked_bytes) AS acked_bytes,
    sum(r.marked_bytes) AS marked_bytes,
    sum(r.ce_frames) AS ce_frames,
    sum(r.decisions) AS decisions,
    toFloat64(argMax(r.U, r.time_ns)) AS U,
    toFloat64(argMax(r.W, r.time_ns)) AS W,
    toFloat64(argMax(r.Wc, r.time_ns)) AS Wc,
    toFloat64(argMax(r.R, r.time_ns)) AS R,
    argMax(r.alpha, r.time_ns) AS alpha,
    argMax(r.inflight_bytes, r.time_ns) AS inflight_bytes,
    sum(r.feedback) AS feedback,
    sum(r.feedback_told_apart) AS feedback_told_apart,
    sum(r.feedback_valid) AS feedback_valid,
    sum(r.feedback_invalid) AS feedback_invalid,
    sum(r.feedback_replayed) AS feedback_replayed,
    sum(r.feedback_backwards) AS feedback_backwards,
    sum(r.aecn_samples) AS aecn_samples,
    sum(r.aecn_u_sum_n) / nullIf(sum(r.aecn_samples), 0) * 1e-9 AS aecn_u_mean,
    max(r.aecn_u_max_n) * 1e-9 AS aecn_u_max,
    sum(r.aecn_queue_delay_sum) / nullIf(sum(r.aecn_samples), 0) AS aecn_queue_delay_mean,
    max(r.aecn_congested_hops_max) AS aecn_congested_hops_max
FROM {rollup:Identifier} AS r FINAL
WHERE flow = {flow:UInt64}
    AND r.time_ns >= {from_ns:Int64}
    AND r.time_ns <= {to_ns:Int64}
GROUP BY time_ns, interval_ns, point
ORDER BY time_ns, interval_ns, point
SETTINGS max_threads = 1

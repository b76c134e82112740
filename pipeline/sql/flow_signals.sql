-- What did one flow do in each interval of a window, at each observation point, and in which state was it?
-- Intervals shorter than `step_ns` are added up to that length, those that touch the window: `least_ns` is the shortest
-- of them, `begins_ns` and `ends_ns` are where the first begins and the last ends. States are those of the last.
SELECT
    intDiv(i.time_ns, greatest(i.interval_ns, {step_ns:Int64})) * greatest(i.interval_ns, {step_ns:Int64}) AS time_ns,
    greatest(i.interval_ns, {step_ns:Int64}) AS interval_ns,
    point,
    min(i.interval_ns) AS least_ns,
    min(i.time_ns) AS begins_ns,
    max(i.time_ns + i.interval_ns) AS ends_ns,
    sum(i.frames) AS frames,
    sum(i.bytes) AS bytes,
    sum(i.data_bytes) AS data_bytes,
    sum(i.data_frames) AS data_frames,
    sum(i.acks) AS acks,
    sum(i.acked_bytes) AS acked_bytes,
    sum(i.marked_bytes) AS marked_bytes,
    sum(i.ce_frames) AS ce_frames,
    sum(i.decisions) AS decisions,
    argMax(i.U, i.time_ns) AS U,
    argMax(i.W, i.time_ns) AS W,
    argMax(i.Wc, i.time_ns) AS Wc,
    argMax(i.R, i.time_ns) AS R,
    argMax(i.alpha, i.time_ns) AS alpha,
    argMax(i.inflight_bytes, i.time_ns) AS inflight_bytes,
    sum(i.feedback) AS feedback,
    sum(i.feedback_told_apart) AS feedback_told_apart,
    sum(i.feedback_valid) AS feedback_valid,
    sum(i.feedback_invalid) AS feedback_invalid,
    sum(i.feedback_replayed) AS feedback_replayed,
    sum(i.feedback_backwards) AS feedback_backwards,
    sum(i.aecn_samples) AS aecn_samples,
    sum(i.aecn_u_sum_n) / nullIf(sum(i.aecn_samples), 0) * 1e-9 AS aecn_u_mean,
    max(i.aecn_u_max_n) * 1e-9 AS aecn_u_max,
    sum(i.aecn_queue_delay_sum) / nullIf(sum(i.aecn_samples), 0) AS aecn_queue_delay_mean,
    max(i.aecn_congested_hops_max) AS aecn_congested_hops_max
FROM flow_intervals AS i FINAL
WHERE flow = {flow:UInt64} AND
-- part: in_window
GROUP BY time_ns, interval_ns, point
ORDER BY time_ns, interval_ns, point
SETTINGS max_threads = 1

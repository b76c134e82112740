-- Which frames of a window carried what of one flow and its reverse, by observation point?
-- Asked where `flow_frames` gives too many of them.
-- `kind` and `lm` are those of a CSIG tag or its reflection, `marked` is CE, or ECE of an acknowledgment. `plain` says
-- that the frame is of an interval in which the answer's verdict stood, `tagged` that the time is of which its tag
-- tells. First, last and telling frames are (what they say of congestion, time, frame).
WITH time_ns - {ago_ns:Array(Int64)}[ifNull(kind, 3) + 1] AS of_ns
SELECT
    o.flow != {flow:UInt64} AS echo,
    source,
    point,
    if(echo, csig_echo_variant, csig_variant) AS variant,
    if(echo, csig_echo_t, csig_t) AS kind,
    if(echo, csig_echo_lm, csig_lm) AS lm,
    ifNull(if(echo, bitAnd(flags, 64) != 0, ecn = 3 OR (ecn > 0 AND outer_ecn = 3)), 0) AS marked,
    echo AND protocol = 6 AND bitAnd(ifNull(flags, 0), 22) = 16 AS told_window,
    NOT echo AND isNotNull(aecn_u) AS told_aecn,
    intDiv(time_ns, {step_ns:Int64}) * {step_ns:Int64} IN {stood:Array(Int64)} AS plain,
    intDiv(of_ns, {step_ns:Int64}) * {step_ns:Int64} IN {stood:Array(Int64)} AS tagged,
    count() AS frames,
    min((time_ns, frame)) AS first,
    max((time_ns, frame)) AS last,
    max((ifNull(if(echo, csig_echo_low, csig_low), 0), -time_ns, frame)) AS most,
    min((ifNull(if(echo, csig_echo_low, csig_low), 0), time_ns, frame)) AS least,
    max((ifNull(aecn_u, 0), -time_ns, frame)) AS most_aecn,
    min((ifNull(window, 0), time_ns, frame)) AS least_window
FROM observations AS o
PREWHERE o.flow IN ({flow:UInt64}, {reverse:UInt64})
    AND slice BETWEEN intDiv({from_ns:Int64}, 60000000000) AND intDiv({to_ns:Int64}, 60000000000)
    AND time_ns >= {from_ns:Int64}
    AND time_ns <= {to_ns:Int64}
WHERE plain OR tagged
GROUP BY echo, source, point, variant, kind, lm, marked, told_window, told_aecn, plain, tagged
LIMIT 65536
SETTINGS max_threads = 1

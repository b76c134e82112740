-- Query `flow_frames` of several askers at once, about all of their flows and the time of all.
SELECT
    flow,
    source,
    point,
    csig_variant,
    csig_t,
    csig_lm,
    csig_low,
    csig_echo_variant,
    csig_echo_t,
    csig_echo_lm,
    csig_echo_low,
    ecn,
    flags,
    aecn_u,
    window,
    time_ns,
    frame
FROM observations
PREWHERE flow IN {flows:Array(UInt64)}
    AND slice IN {slices:Array(Int64)}
    AND time_ns >= {from_ns:Int64}
    AND time_ns <= {to_ns:Int64}
ORDER BY flow, time_ns
LIMIT {rows:UInt64}
SETTINGS max_threads = 1, query_plan_enable_optimizations = 0

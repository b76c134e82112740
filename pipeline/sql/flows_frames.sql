-- Query `flow_frames` of several askers at once, about all of their flows and the time of all.
-- part: frame_rows
PREWHERE flow IN {flows:Array(UInt64)}
    AND slice IN {slices:Array(Int64)}
    AND time_ns >= {from_ns:Int64}
    AND time_ns <= {to_ns:Int64}
ORDER BY flow, time_ns
LIMIT {rows:UInt64}
SETTINGS max_threads = 1, query_plan_enable_optimizations = 0

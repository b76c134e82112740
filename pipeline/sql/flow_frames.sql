-- What did the frames of a window of one flow and its reverse carry, one by one?
-- Few enough, they are grouped where the answer is composed (`witness.py`), in half the time that `flow_frame_groups`
-- takes, and before the verdict is known. As plain as `flow_told`.
-- part: frame_rows
PREWHERE flow IN ({flow:UInt64}, {reverse:UInt64})
    AND slice IN {slices:Array(Int64)}
    AND time_ns >= {from_ns:Int64}
    AND time_ns <= {to_ns:Int64}
LIMIT {rows:UInt64}
SETTINGS max_threads = 1, query_plan_enable_optimizations = 0

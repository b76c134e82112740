-- What is told of one flow in the intervals that touch a window, whatever their length: verdicts, counts of feedback?
-- Slices are told one by one, and dividing is left to the asker: each function of a statement, a comparison too, takes
-- the engine a tenth of a millisecond before it reads anything, a name for the table a quarter, and what it looks for
-- in a plan that is as simple as this a third.
-- part: told_rows
PREWHERE flow = {flow:UInt64}
    AND slice IN {slices:Array(Int64)}
    AND time_ns + interval_ns > {from_ns:Int64}
    AND time_ns <= {to_ns:Int64}
LIMIT {rows:UInt64}
SETTINGS max_threads = 1, query_plan_enable_optimizations = 0

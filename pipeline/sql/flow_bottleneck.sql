-- The same as `flow_told` in intervals of one length, where there are too many to read all.
-- part: told_rows
PREWHERE interval_ns = {interval_ns:Int64} AND
-- part: flow_window
SETTINGS max_threads = 1

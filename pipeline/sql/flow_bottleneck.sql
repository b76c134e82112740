-- The same as `flow_told` in intervals of one length, where there are too many to read all, or the window is long.
-- part: told_rows
AS i
PREWHERE flow = {flow:UInt64} AND interval_ns = {interval_ns:Int64} AND
-- part: in_window
SETTINGS max_threads = 1

-- What is told of one flow in the intervals that touch a window, whatever their length: verdicts, counts of feedback?
-- part: told_rows
PREWHERE
-- part: flow_window
LIMIT {rows:UInt64}
SETTINGS max_threads = 1

-- Where was one flow bottlenecked in the intervals that touch a window, whatever their length?
-- part: verdict_rows
PREWHERE
-- part: flow_window
LIMIT {rows:UInt64}
SETTINGS max_threads = 1

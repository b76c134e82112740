-- Of which lengths are there verdicts on one flow that touch a window?
SELECT DISTINCT interval_ns
FROM verdicts AS i
PREWHERE flow = {flow:UInt64} AND
-- part: in_window
ORDER BY interval_ns
SETTINGS max_threads = 1

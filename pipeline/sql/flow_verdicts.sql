-- Where was one flow bottlenecked in the intervals that touch a window, whatever their length?
-- Every revision that is still kept. `told` is most of the row (`told_row.py`).
SELECT
    time_ns,
    interval_ns,
    told,
    candidates,
    evidence
FROM verdicts AS i
PREWHERE
-- part: flow_window
LIMIT {rows:UInt64}
SETTINGS max_threads = 1

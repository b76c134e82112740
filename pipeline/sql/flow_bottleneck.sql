-- Where was one flow bottlenecked in the intervals that touch a window, of one length or (0) of any?
-- Every revision that is still kept. `told` is most of the row (`told_row.py`).
SELECT
    time_ns,
    interval_ns,
    told,
    candidates,
    evidence
FROM verdicts AS i
PREWHERE flow = {flow:UInt64} AND ({interval_ns:Int64} = 0 OR interval_ns = {interval_ns:Int64}) AND
-- part: in_window
LIMIT {rows:UInt64}
SETTINGS max_threads = 1

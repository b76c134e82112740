-- Of each length: the time of a window in which a flow was judged, and the mean of `completeness` (null: none knows).
SELECT
    interval_ns,
    sum(inside_ns) AS covered_ns,
    sum(complete) / nullIf(sum(known), 0) AS completeness
FROM (
    SELECT
        i.interval_ns AS interval_ns,
        least(i.time_ns + i.interval_ns, {to_ns:Int64} + 1) - greatest(i.time_ns, {from_ns:Int64}) AS inside_ns,
        sum(i.completeness) AS complete,
        count(i.completeness) AS known
    FROM verdicts AS i FINAL
    PREWHERE
-- part: in_window

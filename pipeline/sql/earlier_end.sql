-- Until when had the newest intervals of one length ended?
SELECT maxOrNull(time_ns + interval_ns) AS ended_ns
FROM flow_intervals
WHERE slice >= (SELECT intDiv(max(time_ns), 60000000000) FROM flow_intervals)
    AND interval_ns = {interval_ns:Int64}

-- Of which lengths are there verdicts on one flow that touch a window?
SELECT DISTINCT interval_ns
FROM verdicts
PREWHERE flow = {flow:UInt64}
    AND slice BETWEEN intDiv({from_ns:Int64}, 60000000000) - 1 AND intDiv({to_ns:Int64}, 60000000000)
WHERE time_ns > {from_ns:Int64} - 60000000000
    AND time_ns + interval_ns > {from_ns:Int64}
    AND time_ns <= {to_ns:Int64}
ORDER BY interval_ns
SETTINGS max_threads = 1

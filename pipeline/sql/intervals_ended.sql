-- Until when had intervals of a time ended that are stored?
SELECT maxOrNull(time_ns + interval_ns) AS ended_ns
FROM flow_intervals
WHERE slice BETWEEN intDiv({from_ns:Int64}, 60000000000) - 1 AND intDiv({to_ns:Int64}, 60000000000)
    AND time_ns <= {to_ns:Int64}
    AND time_ns + interval_ns > {from_ns:Int64}

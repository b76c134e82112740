-- Until when are verdicts stored of those that end by a time? 0 where there are none.
SELECT max(time_ns + interval_ns) AS to_ns
FROM verdicts
WHERE time_ns + interval_ns <= {before_ns:Int64}
    AND slice <= intDiv({before_ns:Int64}, 60000000000)
    AND slice >= (
        SELECT slice
        FROM verdicts
        WHERE slice <= intDiv({before_ns:Int64}, 60000000000) AND time_ns + interval_ns <= {before_ns:Int64}
        ORDER BY slice DESC
        LIMIT 1
    )

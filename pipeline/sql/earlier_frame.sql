-- When did the first frame of a time come whose row is kept? Null: none is.
SELECT minOrNull(time_ns) AS first_ns
FROM observations
WHERE slice BETWEEN intDiv({from_ns:Int64}, 60000000000) AND intDiv({to_ns:Int64}, 60000000000)
    AND time_ns >= {from_ns:Int64}
    AND time_ns < {to_ns:Int64}

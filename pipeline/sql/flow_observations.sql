-- What did the frames of a flow and of its reverse say, in a window? In order of time, page by page.
SELECT *
FROM observations AS o
WHERE o.flow IN {flows:Array(UInt64)}
    AND slice BETWEEN intDiv({from_ns:Int64}, 60000000000) AND intDiv({to_ns:Int64}, 60000000000)
    AND time_ns >= {from_ns:Int64}
    AND time_ns <= {to_ns:Int64}
ORDER BY time_ns, payload_bytes > 0, source, frame
LIMIT {rows:UInt32} OFFSET {skip:UInt64}
SETTINGS max_threads = 1

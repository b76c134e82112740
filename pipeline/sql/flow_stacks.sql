-- Which frames of a window carried stacks of one flow, by hop, source and observation point?
-- Of the intervals in which the answer's verdict stood. A reflection travels with the reverse flow. `first` and `last`
-- are numbers of frames in their source, by time; `telling` is the frame with the longest queue, of equals the first.
SELECT
    hop.1 AS high,
    hop.2 AS low,
    echo,
    source,
    point,
    argMin(frame, time_ns) AS first,
    argMax(frame, time_ns) AS last,
    count() AS frames,
    argMax(frame, (hop.3, -time_ns)) AS telling,
    argMax(time_ns, (hop.3, -time_ns)) AS telling_ns
FROM (
    SELECT
        time_ns,
        source,
        point,
        frame,
        o.flow != {flow:UInt64} AS echo,
        arrayJoin(arrayMap(place -> (toInt64(ifNull(hop_node[place + 1], 4294967294)),
                toInt64(if(isNull(hop_node[place + 1]), place, ifNull(hop_port[place + 1], 4294967295))),
                toFloat64(ifNull(hop_qlen_bytes[place + 1], 0))),
            range(least(12, hop_count)))) AS hop
    FROM observations AS o
    PREWHERE o.flow IN ({flow:UInt64}, {reverse:UInt64})
        AND slice BETWEEN intDiv({from_ns:Int64}, 60000000000) AND intDiv({to_ns:Int64}, 60000000000)
        AND time_ns >= {from_ns:Int64}
        AND time_ns <= {to_ns:Int64}
    WHERE ifNull(int_reflected, 0) = echo
        AND intDiv(time_ns, {step_ns:Int64}) * {step_ns:Int64} IN {stood:Array(Int64)}
)
GROUP BY high, low, echo, source, point
ORDER BY high, low, echo, source, point
LIMIT 4096
SETTINGS max_threads = 1

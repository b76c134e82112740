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
        arrayJoin(arrayMap((hop, place) -> (toInt64(ifNull(hop.1, 4294967294)),
                toInt64(if(isNull(hop.1), place, ifNull(hop.2, 4294967295))), toFloat64(ifNull(hop.3, 0))),
            arraySlice([
            (h0_node, h0_port, h0_qlen_bytes),
            (h1_node, h1_port, h1_qlen_bytes),
            (h2_node, h2_port, h2_qlen_bytes),
            (h3_node, h3_port, h3_qlen_bytes),
            (h4_node, h4_port, h4_qlen_bytes),
            (h5_node, h5_port, h5_qlen_bytes),
            (h6_node, h6_port, h6_qlen_bytes),
            (h7_node, h7_port, h7_qlen_bytes),
            (h8_node, h8_port, h8_qlen_bytes),
            (h9_node, h9_port, h9_qlen_bytes),
            (h10_node, h10_port, h10_qlen_bytes),
            (h11_node, h11_port, h11_qlen_bytes)
            ], 1, hop_count), range(least(12, hop_count)))) AS hop
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

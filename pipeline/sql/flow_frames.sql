-- Which frames of a window carried each signal of one flow, by hop or locator, source and observation point?
-- Those of the intervals in which the answer's verdict stood: at a hop that holds the flow back, or else all. A signal
-- is `int` with node and port, `csig_<type>` with variant and locator, `aecn`, `ecn` (CE, or ECE of reflections), or `window`; a
-- reflection travels with the reverse flow. CSIG tells of a time before its frame. `first` and `last` are numbers of
-- frames in their source, by time; `telling` is the frame that says most of congestion, of equals the first.
WITH stood AS (
    SELECT time_ns
    FROM (
        SELECT time_ns, kind, node, port
        FROM verdicts AS i
        PREWHERE flow = {flow:UInt64} AND
-- part: in_window
        WHERE interval_ns = {step_ns:Int64}
        ORDER BY time_ns, revision DESC
        LIMIT 1 BY time_ns
    ) AS i
    WHERE {node:Int64} = -2 OR ifNull(node, -1) = {node:Int64} AND ifNull(port, -1) = {port:Int64} AND
-- part: holding
)
SELECT
    s.1 AS signal,
    s.2 AS high,
    s.3 AS low,
    echo,
    source,
    point,
    argMin(frame, time_ns) AS first,
    argMax(frame, time_ns) AS last,
    count() AS frames,
    argMax(frame, (s.4, -time_ns)) AS telling,
    argMax(time_ns, (s.4, -time_ns)) AS telling_ns
FROM (
    SELECT
        time_ns,
        source,
        point,
        frame,
        o.flow != {flow:UInt64} AS echo,
        if(echo, csig_echo_variant, csig_variant) AS variant,
        ifNull(if(echo, csig_echo_t, csig_t), 255) AS kind,
        ifNull(if(echo, csig_echo_low, csig_low), 0) AS value,
        arrayJoin(arrayConcat(
            if(ifNull(int_reflected, 0) != echo, [], arrayMap((hop, place) -> ('int', toInt64(ifNull(hop.1, 4294967294)),
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
                ], 1, hop_count), range(least(12, hop_count)))),
            if(isNotNull(variant) AND kind < 3, [(concat('csig_', ['abw', 'utilization', 'delay'][kind + 1]),
                toInt64(ifNull(variant, 0)), toInt64(ifNull(if(echo, csig_echo_lm, csig_lm), 0)),
                if(kind = 2, value, -value))], []),
            if(NOT echo AND isNotNull(aecn_u), [('aecn', 0, 0, ifNull(aecn_u, 0))], []),
            if(ifNull(if(echo, bitAnd(flags, 64) != 0, ecn = 3), 0), [('ecn', 0, 0, 0.)], []),
            if(echo AND protocol = 6 AND bitAnd(ifNull(flags, 0), 22) = 16, [('window', 0, 0, -toFloat64(ifNull(window, 0)))], [])
        )) AS s
    FROM observations AS o
    WHERE o.flow IN ({flow:UInt64}, {reverse:UInt64})
        AND slice BETWEEN intDiv({from_ns:Int64}, 60000000000) AND intDiv({to_ns:Int64}, 60000000000)
        AND time_ns >= {from_ns:Int64}
        AND time_ns <= {to_ns:Int64}
)
WHERE intDiv(time_ns - multiIf(
        signal = 'csig_abw', {abw_ago_ns:Int64},
        signal = 'csig_utilization', {utilization_ago_ns:Int64},
        signal = 'csig_delay', {delay_ago_ns:Int64}, 0
    ), {step_ns:Int64}) * {step_ns:Int64} IN (stood)
GROUP BY signal, high, low, echo, source, point
ORDER BY signal, high, low, echo, source, point
LIMIT 4096
SETTINGS max_threads = 1

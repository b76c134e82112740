-- Which frames of a window carried each signal of one flow, by source and observation point?
-- A reflection travels with the reverse flow. `first` and `last` are numbers of frames in their
-- source, by time.
SELECT
    signal,
    source,
    point,
    argMin(frame, time_ns) AS first,
    argMax(frame, time_ns) AS last,
    count() AS frames
FROM (
    SELECT
        time_ns,
        source,
        point,
        frame,
        arrayJoin(arrayFilter(name -> name != '', [
            if(hop_count > 0, 'int', ''),
            if(isNotNull(if(o.flow = {flow:UInt64}, csig_variant, csig_echo_variant)), 'csig', ''),
            if(o.flow = {flow:UInt64} AND isNotNull(aecn_u), 'aecn', ''),
            if(if(o.flow = {flow:UInt64}, ecn = 3, bitAnd(flags, 64) != 0), 'ecn', '')
        ])) AS signal
    FROM observations AS o
    WHERE o.flow IN ({flow:UInt64}, {reverse:UInt64})
        AND slice BETWEEN intDiv({from_ns:Int64}, 60000000000) AND intDiv({to_ns:Int64}, 60000000000)
        AND time_ns >= {from_ns:Int64}
        AND time_ns <= {to_ns:Int64}
)
GROUP BY signal, source, point
ORDER BY signal, source, point
LIMIT 64
SETTINGS max_threads = 1

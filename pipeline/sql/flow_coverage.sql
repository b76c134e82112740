-- How much of a window do verdicts on one flow speak of, and how complete are they?
-- part: covered
        AND i.flow = {flow:UInt64}
    GROUP BY i.time_ns, i.interval_ns
)
GROUP BY interval_ns

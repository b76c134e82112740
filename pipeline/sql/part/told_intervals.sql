        -- What verdicts of each interval in a window say of their completeness.
        i.interval_ns AS length_ns,
        least(i.time_ns + i.interval_ns, {to_ns:Int64} + 1) - greatest(i.time_ns, {from_ns:Int64}) AS inside_ns,
        sum(i.completeness) AS complete,
        count(i.completeness) AS known
    FROM verdicts AS i FINAL
    PREWHERE
-- part: in_window

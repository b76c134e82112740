-- How much of a window do verdicts speak of, and how complete are they?
-- part: covered
    WHERE
        has({tenants:Array(String)}, '*')
        OR i.flow IN (SELECT flow FROM flows WHERE has({tenants:Array(String)}, owner))
    GROUP BY i.time_ns, i.interval_ns
)
GROUP BY interval_ns

    -- The ends of a flow; GROUP BY flow follows.
    any(f.src) AS src,
    any(f.sport) AS sport,
    any(f.dst) AS dst,
    any(f.dport) AS dport,
    any(f.protocol) AS protocol,

    -- Who owns a flow, and its ends; GROUP BY flow follows.
    SELECT
        flow,
        max(f.owner) AS owner,
        any(f.tenant) AS tenant,
        any(f.vrf) AS vrf,
        any(f.vni) AS vni,
        any(f.src) AS src,
        any(f.sport) AS sport,
        any(f.dst) AS dst,
        any(f.dport) AS dport,
        any(f.protocol) AS protocol,
        any(f.cc) AS cc
    FROM flows AS f

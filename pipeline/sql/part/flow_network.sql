    -- Where the addresses of a flow hold; GROUP BY flow follows.
    any(f.tenant) AS tenant,
    any(f.vrf) AS vrf,
    any(f.vni) AS vni,

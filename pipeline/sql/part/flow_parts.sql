-- What a part of the table says of a flow (`flow_finding.py`).
    flow,
    tenant,
    vrf,
    vni,
    protocol,
    conversation,
    direction,
    first_ns,
    last_ns,
    cc
FROM flows AS f

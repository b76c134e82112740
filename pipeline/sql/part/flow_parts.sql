-- What a part of the table says of a flow (`flow_finding.py`).
    flow,
    first_ns,
    last_ns,
    cc,
    told
FROM flow_by_ends AS f

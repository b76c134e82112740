-- What frames carried, of which evidence speaks, one row each (`witness.py`).
SELECT
    flow,
    source,
    point,
    csig_variant,
    csig_t,
    csig_lm,
    csig_low,
    csig_echo_variant,
    csig_echo_t,
    csig_echo_lm,
    csig_echo_low,
    if(ecn > 0 AND outer_ecn = 3, 3, ecn) AS met_ecn,
    flags,
    aecn_u,
    window,
    time_ns,
    frame
FROM observations

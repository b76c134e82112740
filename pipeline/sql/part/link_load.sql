    -- Load of a hop out of its rows `h`: measured (INT) where there is any, else the rate and the delay term of CSIG.
    sumIf(h.samples, h.source = 'int') AS measured,
    -- Of what tells the load: INT has a sample a hop of what others tell in several signals, and echo.
    if(
        measured > 0,
        measured,
        sumIf(h.samples, match(h.source, '(bound|abw|utilization|delay)$'))
    ) AS samples,
    if(
        measured > 0,
        sumIf(h.u_sum_n, h.source = 'int') / measured,
        ifNotFinite(sumIf(h.u_sum_n, match(h.source, '(bound|abw|utilization)$'))
            / sumIf(h.samples, match(h.source, '(bound|abw|utilization)$')), 0)
        + ifNotFinite(sumIf(h.u_sum_n, endsWith(h.source, 'delay'))
            / sumIf(h.samples, endsWith(h.source, 'delay')), 0)
    ) * 1e-9 AS u_mean,
    if(
        measured > 0,
        maxIf(h.u_max_n, h.source = 'int'),
        maxIf(h.u_max_n, match(h.source, '(bound|abw|utilization)$'))
        + maxIf(h.u_max_n, endsWith(h.source, 'delay'))
    ) * 1e-9 AS u_max,

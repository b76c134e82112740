-- Flows that one hop held back in a window, and when, by the length of intervals that answers.
per_length AS (
    SELECT
        flow,
        interval_ns,
        countIf(here) / count() AS held_share,
        sumIf(i.u_mean * i.samples, here) / nullIf(sumIf(i.samples, here AND isNotNull(i.u_mean)), 0) AS u_mean,
        maxIf(i.u_max, here) AS u_max,
        sumIf(i.samples, here) AS samples,
        minIf(i.time_ns, here) AS first_ns,
        maxIf(i.time_ns + i.interval_ns, here) AS last_ns
    FROM (
        SELECT
            *,
            slice,
            ifNull(node = {node:UInt32} AND port = {port:UInt32}, 0)
                AND
-- part: holding
            AS here
        FROM verdicts AS i FINAL
    ) AS i
    WHERE
-- part: in_window
    GROUP BY flow, interval_ns
),
fitting AS (
    SELECT
        flow,
-- part: fitting
        AS length
    FROM per_length
    GROUP BY flow
),
held AS (
    SELECT p.*
    FROM per_length AS p
    INNER JOIN fitting AS f ON p.flow = f.flow AND p.interval_ns = f.length
    WHERE p.held_share > 0
),

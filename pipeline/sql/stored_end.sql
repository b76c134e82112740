-- Until when is something stored, judged or not: findings, frames, how far live sources came? 0 where nothing is.
SELECT greatest(
    (SELECT max(time_ns + interval_ns) FROM telemetry_health),
    (
        SELECT if(count() = 0, 0, max(time_ns) + 1)
        FROM observations
        WHERE slice >= (SELECT intDiv(max(time_ns), 60000000000) FROM observations)
    ),
    (SELECT max(reached_ns) FROM captures)
) AS to_ns

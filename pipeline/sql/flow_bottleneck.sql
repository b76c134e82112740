-- Where was one flow bottlenecked in the intervals that touch a window? The newest revision of each.
-- Of several lengths of intervals the longest from `least_ns` to `most_ns` answers, or else, with `least_ns` 0, the
-- shortest.
WITH asked AS (
    SELECT
-- part: fitting
        AS length,
        arraySort(groupUniqArray(interval_ns)) AS lengths
    FROM verdicts AS i
    PREWHERE flow = {flow:UInt64} AND
-- part: in_window
)
SELECT
    time_ns,
    interval_ns,
    kind,
    node,
    port,
    device,
    interface,
    stage,
    orientation,
    capacity_bps,
    u_mean,
    u_max,
    queue_mean_bytes,
    samples,
    confidence,
    completeness,
    telemetry,
    sampling,
    shed,
    gaps,
    plausibility,
    reroute_helps,
    contributors,
    victims,
    agreement,
    disagreement,
    duty,
    hops,
    hops_seen,
    revision,
    revised_ns,
    candidates,
    evidence,
    topology,
    (SELECT lengths FROM asked) AS lengths
FROM verdicts AS i
PREWHERE flow = {flow:UInt64} AND
-- part: in_window
WHERE interval_ns = (SELECT length FROM asked)
ORDER BY time_ns, interval_ns, revision DESC
LIMIT 1 BY time_ns, interval_ns
SETTINGS max_threads = 1

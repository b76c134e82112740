-- Where was one flow bottlenecked in the intervals that touch a window, of one length or (0) of any?
-- Every revision that is still kept.
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
    topology
FROM verdicts AS i
PREWHERE flow = {flow:UInt64} AND ({interval_ns:Int64} = 0 OR interval_ns = {interval_ns:Int64}) AND
-- part: in_window
LIMIT {rows:UInt64}
SETTINGS max_threads = 1

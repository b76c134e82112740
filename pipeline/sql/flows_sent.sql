-- What did flows send, each in its own time, by a rollup? Each time is widened to whole steps.
-- `rollup` is flow_seconds, flow_minutes or flow_hours, `step_ns` its width. The point that saw most of a flow counts;
-- `begins_ns` is from when on the rollup tells of it.
WITH asked AS (
    SELECT
        t.1 AS flow,
        intDiv(t.2, {step_ns:Int64}) * {step_ns:Int64} AS begin_ns,
        t.3 AS end_ns
    FROM (
        SELECT arrayJoin(arrayZip({flows:Array(UInt64)}, {firsts:Array(Int64)}, {lasts:Array(Int64)})) AS t
    )
    WHERE has({tenants:Array(String)}, '*')
        OR flow IN (SELECT flow FROM flows WHERE has({tenants:Array(String)}, owner))
)
SELECT
    flow,
    max(at_point) AS data_bytes,
    min(first_ns) AS begins_ns
FROM (
    SELECT
        flow,
        point,
        sum(r.data_bytes) AS at_point,
        min(r.time_ns) AS first_ns
    FROM {rollup:Identifier} AS r
    INNER JOIN asked AS a ON r.flow = a.flow
    WHERE flow IN (SELECT flow FROM asked)
        AND r.time_ns >= a.begin_ns
        AND r.time_ns < a.end_ns
    GROUP BY flow, point
)
GROUP BY flow
ORDER BY flow

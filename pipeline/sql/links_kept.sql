-- From when on does a rollup of links tell of loads in a window? `rollup` is link_minutes or link_hours; no rows: not at all.
SELECT
    count() AS rows,
    min(r.time_ns) AS first_ns
FROM {rollup:Identifier} AS r
WHERE r.time_ns >= {from_ns:Int64}
    AND r.time_ns < {to_ns:Int64}
    AND r.samples > 0

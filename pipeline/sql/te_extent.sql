-- From when to when does a rollup hold rows? `rollup` is link_seconds, path_seconds, path_minutes, …; 0 when it is empty.
SELECT
    count() AS rows,
    min(r.time_ns) AS first_ns,
    max(r.time_ns) AS last_ns
FROM {rollup:Identifier} AS r

-- Which alerts are pending or firing by their last state until a time, since when, and was that a pause of one that flaps?
SELECT
    a.rule AS rule,
    a.labels AS labels,
    argMax(a.state, (a.time_ns, a.state = 'firing', a.state)) AS state,
    max(a.time_ns) AS changed_ns,
    argMax(a.since_ns, a.time_ns) AS since_ns,
    argMax(a.value, a.time_ns) AS value,
    argMax(a.changes, a.time_ns) AS changes,
    argMax(tuple(a.value), a.time_ns).1 IS NULL AS damped
FROM alerts AS a
WHERE a.time_ns <= {until_ns:Int64}
GROUP BY rule, labels
HAVING state IN ('pending', 'firing')
ORDER BY changed_ns DESC, rule, labels
LIMIT {rows:UInt32}

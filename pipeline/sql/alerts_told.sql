-- Which alerts does each receiver take to fire, or may it (asked), by what it was told last?
SELECT
    a.receiver AS receiver,
    a.rule AS rule,
    a.labels AS labels,
    argMax(a.state, (a.told_ns, a.state)) AS state,
    argMax(a.since_ns, a.told_ns) AS since_ns,
    argMax(tuple(a.value), a.told_ns).1 AS value
FROM alerts_told AS a
GROUP BY receiver, rule, labels
HAVING state IN ('asked', 'firing')
ORDER BY receiver, rule, labels
LIMIT {rows:UInt32} BY receiver

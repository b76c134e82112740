-- What was found out about the telemetry in a window? One row a finding and subject, as known last.
SELECT
    finding,
    kind,
    subject,
    argMax(h.class, (h.time_ns, h.revision)) AS class,
    argMax(h.verdict, (h.time_ns, h.revision)) AS verdict,
    argMax(h.count, (h.time_ns, h.revision)) AS count,
    argMax(h.evidence, (h.time_ns, h.revision)) AS evidence,
    min(h.time_ns) AS from_ns,
    max(h.time_ns + h.interval_ns) AS to_ns
FROM telemetry_health AS h
WHERE h.time_ns + h.interval_ns > {from_ns:Int64} AND h.time_ns < {to_ns:Int64}
GROUP BY finding, kind, subject
HAVING ({class:String} = '' OR class = {class:String}) AND ({verdict:String} = '' OR verdict = {verdict:String})
ORDER BY verdict DESC, class = 'device' DESC, class, finding, kind, subject
LIMIT {rows:UInt32}

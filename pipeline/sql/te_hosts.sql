-- Where does the topology in force at a time say that address prefixes are?
SELECT
    prefix,
    argMax(h.host, (h.told_ns, h.valid_from_ns)) AS host,
    argMax(h.device, (h.told_ns, h.valid_from_ns)) AS device,
    argMax(h.interface, (h.told_ns, h.valid_from_ns)) AS interface,
    argMax(h.site, (h.told_ns, h.valid_from_ns)) AS site
FROM hosts AS h
WHERE
-- part: in_force
    AND hasAny({tenants:Array(String)}, ['*', h.tenant])
GROUP BY prefix
ORDER BY prefix

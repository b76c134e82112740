-- Which requests would have changed something? The latest first.
SELECT time_ns, who, address, method, path, body, status
FROM audit
WHERE time_ns < {before_ns:Int64}
ORDER BY time_ns DESC, who, path
LIMIT {rows:UInt32}

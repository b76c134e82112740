-- Which silences and maintenance windows end after a time?
SELECT id, written_ns, from_ns, to_ns, matchers, kind, author, comment
FROM silences FINAL
WHERE to_ns > {after_ns:Int64}
ORDER BY from_ns, id
LIMIT {rows:UInt32}

-- How far did a source come before a time, in the lives that it had until then?
SELECT maxOrNull(reached_ns) AS reached_ns
FROM captures
WHERE source = {source:String} AND time_ns < {before_ns:Int64}

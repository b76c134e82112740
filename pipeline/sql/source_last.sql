-- When did a source bring its last frame before a time, of those in some slices?
SELECT maxOrNull(time_ns) AS last_ns
FROM observations AS o
PREWHERE slice BETWEEN {first_slice:Int64} AND {last_slice:Int64}
    AND source = {source:String}
    AND time_ns < {before_ns:Int64}

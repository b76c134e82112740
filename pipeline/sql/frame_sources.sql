-- Which sources, and points, are stored of a flow from a frame on? `same` says that a frame came just then.
SELECT DISTINCT
    source,
    point,
    time_ns = {time_ns:Int64} AS same
FROM observations
PREWHERE flow = {flow:UInt64}
    AND slice = intDiv({time_ns:Int64}, 60000000000)
    AND time_ns >= {time_ns:Int64}
    AND time_ns < {to_ns:Int64}
ORDER BY source, point, same
LIMIT 100
SETTINGS max_threads = 1

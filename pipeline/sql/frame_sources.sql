-- From which other sources is a frame of one flow stored that came by the same point at the same time?
SELECT DISTINCT source
FROM observations
PREWHERE flow = {flow:UInt64}
    AND slice = intDiv({time_ns:Int64}, 60000000000)
    AND time_ns = {time_ns:Int64}
WHERE source != {source:String}
    AND point = {point:String}
ORDER BY source
LIMIT 10
SETTINGS max_threads = 1

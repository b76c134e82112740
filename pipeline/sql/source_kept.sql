-- How far is one life of a source stored, which began at from_ns: its last frame, and when did that come?
SELECT
    maxOrNull(frame) AS last_frame,
    maxOrNull(time_ns) AS last_ns
FROM observations
WHERE slice >= intDiv({from_ns:Int64}, 60000000000)
    AND time_ns >= {from_ns:Int64}
    AND source = {source:String}

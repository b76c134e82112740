-- How far is one life of a source stored, which began at from_ns: its first and last frame, and when did these come?
SELECT
    argMinOrNull(frame, (time_ns, frame)) AS first_frame,
    minOrNull(time_ns) AS first_ns,
    maxOrNull(frame) AS last_frame,
    maxOrNull(time_ns) AS last_ns
FROM observations
WHERE slice >= intDiv({from_ns:Int64}, 60000000000)
    AND time_ns >= {from_ns:Int64}
    AND source = {source:String}

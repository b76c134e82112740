-- How far was a file followed whose first frame came at from_ns, and how many later ones had its name?
SELECT
    maxOrNullIf(frame, time_ns = {from_ns:Int64}) AS frame,
    maxOrNullIf(reached_ns, time_ns = {from_ns:Int64}) AS reached_ns,
    countIf(time_ns > {from_ns:Int64}) AS later
FROM readings
WHERE source = {source:String}
SETTINGS max_threads = 1

-- What was a file read by when it was stored, whose first frame came at from_ns, and up to which frame (0: not known)?
SELECT read_by, frame
FROM readings
FINAL
WHERE source = {source:String} AND time_ns = {from_ns:Int64}
SETTINGS max_threads = 1

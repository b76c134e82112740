-- Who took a step of the log of a place, and what it says.
SELECT worker, kind, first, last, chain FROM group_log WHERE place = {place:String} AND number = {number:UInt64}
ORDER BY stored_at, epoch LIMIT 1

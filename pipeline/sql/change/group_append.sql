-- One step more in the log of a place, if the one before it is still the last one. Of two workers
-- that take the same number the token lets one through.
INSERT INTO group_log (place, number, kind, epoch, worker, first, last, chain)
SELECT
    {place:String}, {number:UInt64}, {kind:String}, {epoch:UInt64}, {worker:String},
    {first:Int64}, {last:Int64}, {chain:UInt64}
WHERE (SELECT max(number) FROM group_log WHERE place = {place:String}) = {number:UInt64} - 1

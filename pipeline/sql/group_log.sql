-- The log of a place: its last snapshot, and the steps that this does not know.
-- A snapshot without `first` knows all before it.
SELECT number, kind, epoch, worker, first, last, chain
FROM group_log
WHERE place = {place:String} AND number > (
    SELECT if(argMax(first, number) < 0, toInt64(max(number)) - 1, argMax(first, number))
    FROM group_log WHERE place = {place:String} AND kind = 'snapshot'
)
ORDER BY number

-- The log of a place from its last snapshot on.
SELECT number, kind, epoch, worker, first, last, chain
FROM group_log
WHERE place = {place:String} AND number >= (
    SELECT max(number) FROM group_log WHERE place = {place:String} AND kind = 'snapshot'
)
ORDER BY number

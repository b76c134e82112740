-- The parts of the snapshots of a place, of those from a full one on that the log holds.
SELECT number, part, body
FROM group_snapshots
WHERE place = {place:String} AND (number, epoch) IN (
    SELECT if(first < 0, number, toUInt64(first)), epoch FROM group_log
    WHERE place = {place:String} AND kind = 'snapshot' AND chain = {chain:UInt64}
)
ORDER BY number, part
SETTINGS output_format_arrow_string_as_string = 0

-- Steps before a full snapshot are not asked for again.
DELETE FROM group_log WHERE place = {place:String} AND number < {number:UInt64}

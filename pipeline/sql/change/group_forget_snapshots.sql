-- Snapshots before a full one are not asked for again.
DELETE FROM group_snapshots WHERE place = {place:String} AND number < {number:UInt64}

-- In which messages of the bus did frames of one flow and its reverse come?
-- Frames are told by source, number and time; of several copies of a message the first is named.
SELECT
    m.source AS source,
    asked.2 AS frame,
    argMin(m.place, m.offset) AS place,
    min(m.offset) AS offset
FROM bus_messages AS m
ARRAY JOIN arrayZip({sources:Array(String)}, {frames:Array(UInt64)}, {times:Array(Int64)}) AS asked
WHERE m.source = asked.1
    AND m.time_ns <= asked.3 AND m.last_ns >= asked.3
    AND m.first <= asked.2 AND m.last >= asked.2
    AND m.partition = (SELECT any(conversation) FROM flows WHERE flow = {flow:UInt64}) % m.partitions
    AND m.source IN ({sources:Array(String)})
    AND m.time_ns <= arrayMax({times:Array(Int64)}) AND m.last_ns >= arrayMin({times:Array(Int64)})
GROUP BY source, frame
ORDER BY source, frame
SETTINGS max_threads = 1

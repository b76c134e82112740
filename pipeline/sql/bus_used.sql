-- Did any message come over a bus, and of how many partitions is its topic? One row, or none.
SELECT partitions
FROM bus_messages
LIMIT 1
SETTINGS max_threads = 1

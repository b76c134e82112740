-- Did any message come over a bus? One row, or none.
SELECT partitions
FROM bus_messages
LIMIT 1
SETTINGS max_threads = 1

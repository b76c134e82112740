-- When did live sources capture less than came by, or nothing? The newest times.
SELECT
    source,
    time_ns AS from_ns,
    to_ns,
    lost,
    frames
FROM capture_gaps AS g
FINAL
ORDER BY to_ns DESC, source
LIMIT {rows:UInt32}
SETTINGS max_threads = 1

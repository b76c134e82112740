-- How long is the longest interval that the store holds of loads of hops in a window (0: there are none), and from when?
SELECT
    max(h.interval_ns) AS length_ns,
    min(h.time_ns) AS first_ns
FROM hop_intervals AS h
WHERE
-- part: reaching
    AND h.time_ns < {to_ns:Int64}

-- From when on are intervals of flows kept in a window, and where does the first end that begins in it and was judged?
-- 0: there are none.
SELECT
    (
        SELECT min(i.time_ns)
        FROM flow_intervals AS i
        WHERE
-- part: in_window
    ) AS kept_ns,
    (
        SELECT min(i.time_ns + i.interval_ns)
        FROM verdicts AS i
        WHERE
-- part: in_window
            AND i.time_ns >= {from_ns:Int64}
    ) AS judged_ns

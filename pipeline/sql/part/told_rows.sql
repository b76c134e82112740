-- Every revision of a verdict that was stored, and the counts of intervals and points (`told_row.py`).
SELECT
    time_ns,
    interval_ns,
    told
FROM flow_told

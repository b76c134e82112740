-- Verdicts, every revision that is still kept. `told` is most of the row (`told_row.py`).
SELECT
    time_ns,
    interval_ns,
    told,
    candidates,
    evidence
FROM verdicts AS i

-- What is known of the integrity of a flow's feedback, interval by interval, by observation point?
-- Few enough, they are added up where the answer is composed (`feedback_integrity.py`), in less time than
-- `flow_integrity` takes.
SELECT
    interval_ns,
    point,
    feedback,
    feedback_told_apart,
    feedback_valid,
    feedback_invalid,
    feedback_replayed,
    feedback_backwards
FROM flow_intervals AS i
PREWHERE
-- part: flow_window
LIMIT {rows:UInt64}
SETTINGS max_threads = 1

-- What is known of the integrity of a flow's feedback in a window, by observation point?
SELECT
    point,
    sum(i.feedback) AS feedback,
    sum(i.feedback_told_apart) AS feedback_told_apart,
    sum(i.feedback_valid) AS feedback_valid,
    sum(i.feedback_invalid) AS feedback_invalid,
    sum(i.feedback_replayed) AS feedback_replayed,
    sum(i.feedback_backwards) AS feedback_backwards
FROM flow_intervals AS i
PREWHERE flow = {flow:UInt64} AND
-- part: in_window
GROUP BY interval_ns, point
SETTINGS max_threads = 1

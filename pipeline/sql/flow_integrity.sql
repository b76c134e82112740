-- What is known of the integrity of a flow's feedback in a window?
-- Of each count the point that saw most speaks: several see the same reflections.
SELECT
    max(p.feedback) AS feedback,
    max(p.feedback_told_apart) AS feedback_told_apart,
    max(p.feedback_valid) AS feedback_valid,
    max(p.feedback_invalid) AS feedback_invalid,
    max(p.feedback_replayed) AS feedback_replayed,
    max(p.feedback_backwards) AS feedback_backwards
FROM (
    SELECT
        point,
        sum(i.feedback) AS feedback,
        sum(i.feedback_told_apart) AS feedback_told_apart,
        sum(i.feedback_valid) AS feedback_valid,
        sum(i.feedback_invalid) AS feedback_invalid,
        sum(i.feedback_replayed) AS feedback_replayed,
        sum(i.feedback_backwards) AS feedback_backwards
    FROM flow_intervals AS i FINAL
    WHERE flow = {flow:UInt64} AND
-- part: in_window
    GROUP BY interval_ns, point
) AS p
SETTINGS max_threads = 1

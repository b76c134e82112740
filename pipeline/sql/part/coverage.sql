-- The time of a window in which anything was judged, and the mean over the intervals of all flows (null: none knows).
SELECT
    max(covered_ns) AS covered_ns,
    sum(complete) / nullIf(sum(known), 0) AS completeness
FROM (
    SELECT
        sum(inside_ns) AS covered_ns,
        sum(complete) AS complete,
        sum(known) AS known
    FROM told
    GROUP BY length_ns
)

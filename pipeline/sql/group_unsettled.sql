-- Places with steps behind their last snapshot whose rows may be stored or not, and where their logs end.
WITH snapshots AS (
    SELECT
        place,
        if(argMax(first, number) < 0, toInt64(max(number)) - 1, argMax(first, number)) AS known
    FROM group_log WHERE kind = 'snapshot' GROUP BY place
)
SELECT
    place,
    max(number) AS last,
    countIf(kind IN ('ahead', 'cut', 'idle', 'restored') AND toInt64(number) > known) AS steps
FROM group_log LEFT JOIN snapshots USING (place)
GROUP BY place
ORDER BY place

-- Whose are the flows that intervals of one length and time tell of?
SELECT *
FROM flows FINAL
WHERE flow IN (
    SELECT flow
    FROM flow_intervals
-- part: earlier_intervals
    AND slice BETWEEN intDiv({from_ns:Int64}, 60000000000) AND intDiv({to_ns:Int64}, 60000000000)
    UNION ALL
    SELECT flow
    FROM hop_intervals
-- part: earlier_intervals
)

-- What is known of flows in the intervals of one length and time?
SELECT *
FROM flow_intervals FINAL
-- part: earlier_intervals
    AND slice BETWEEN intDiv({from_ns:Int64}, 60000000000) AND intDiv({to_ns:Int64}, 60000000000)

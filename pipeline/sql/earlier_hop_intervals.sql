-- What is known of hops in the intervals of one length and time?
SELECT *
FROM hop_intervals FINAL
-- part: earlier_intervals

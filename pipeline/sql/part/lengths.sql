-- Of each flow of a window the length of intervals that answers.
    SELECT
        flow,
-- part: fitting
        AS length
    FROM verdicts AS i
    WHERE
-- part: in_window
    GROUP BY flow

-- How did the states of alerts change? The latest first, those of one moment together; an empty rule means any.
SELECT *
FROM (
    SELECT time_ns, rule, labels, state, since_ns, value, changes
    FROM alerts FINAL
    WHERE time_ns < {before_ns:Int64}
        AND ({rule:String} = '' OR rule = {rule:String})
        AND NOT (state = 'firing' AND isNull(value)) -- a pause is none
    ORDER BY time_ns DESC
    LIMIT {rows:UInt32} WITH TIES
)
ORDER BY time_ns DESC, rule, labels, state

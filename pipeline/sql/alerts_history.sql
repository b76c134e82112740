-- How did the states of alerts change? The latest first; an empty rule means any.
SELECT time_ns, rule, labels, state, since_ns, value, changes
FROM alerts FINAL
WHERE time_ns < {before_ns:Int64}
    AND ({rule:String} = '' OR rule = {rule:String})
ORDER BY time_ns DESC, rule, labels, state
LIMIT {rows:UInt32}

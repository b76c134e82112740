        slice BETWEEN intDiv({from_ns:Int64}, 60000000000) - 1 AND intDiv({to_ns:Int64}, 60000000000)
        AND i.time_ns > {from_ns:Int64} - 60000000000
        AND i.time_ns + i.interval_ns > {from_ns:Int64}
        AND i.time_ns <= {to_ns:Int64}

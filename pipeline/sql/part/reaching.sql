        h.time_ns > {from_ns:Int64} - 60000000000
        AND h.time_ns + h.interval_ns > {from_ns:Int64}

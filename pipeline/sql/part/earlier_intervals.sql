WHERE time_ns >= {from_ns:Int64}
    AND time_ns < {to_ns:Int64}
    AND interval_ns = {interval_ns:Int64}

-- part: reaching
        AND h.time_ns <= {to_ns:Int64}
        AND h.node < 4294967294
        AND h.source IN ('int', 'int_bound')

-- part: reaching
        AND h.time_ns <= {to_ns:Int64}
        AND h.node = {node:UInt32}
        AND h.port = {port:UInt32}
        AND h.source IN ('int', 'int_bound')

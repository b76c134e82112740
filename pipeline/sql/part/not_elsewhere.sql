            AND (flow, i.time_ns) NOT IN (
                -- Intervals in which a flow's stacks tell another way. Telemetry that does not tell the whole way
                -- names a hop now and then: in between the flow still crosses it.
                SELECT flow, h.time_ns
                FROM hop_intervals AS h
                WHERE
-- part: reaching
                    AND h.time_ns <= {to_ns:Int64}
                    AND h.source IN ('int', 'int_bound')
                    AND h.node < 4294967294
                    AND flow IN (SELECT flow FROM crossing)
                GROUP BY flow, h.time_ns
                HAVING max(node = {node:UInt32} AND port = {port:UInt32}) = 0
            )

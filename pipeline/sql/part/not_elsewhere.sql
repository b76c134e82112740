            AND (flow, i.time_ns) NOT IN (
                -- Intervals in which the stacks of a flow that name this hop at other times tell another way: several
                -- hops, one of which is in no interval with this one. Of what tells parts of a way, and of flows that
                -- others place here, nobody knows that they were elsewhere.
                SELECT flow, h.time_ns
                FROM hop_intervals AS h
                WHERE
-- part: stacks
                    AND flow IN (
                        SELECT flow FROM hop_intervals AS h
                        WHERE
-- part: stacks
                            AND h.node = {node:UInt32}
                            AND h.port = {port:UInt32}
                    )
                    AND (flow, h.time_ns) NOT IN (
                        SELECT flow, h.time_ns FROM hop_intervals AS h
                        WHERE
-- part: reaching
                            AND h.time_ns <= {to_ns:Int64}
                            AND h.node = {node:UInt32}
                            AND h.port = {port:UInt32}
                    )
                GROUP BY flow, h.time_ns
                HAVING uniqExact(node, port) > 1
                    AND max(
                        (flow, node, port) NOT IN (
                            SELECT flow, node, port FROM hop_intervals AS h
                            WHERE
-- part: stacks
                                AND (flow, h.time_ns) IN (
                                    SELECT flow, h.time_ns FROM hop_intervals AS h
                                    WHERE
-- part: stacks
                                        AND h.node = {node:UInt32}
                                        AND h.port = {port:UInt32}
                                )
                        )
                    ) = 1
            )

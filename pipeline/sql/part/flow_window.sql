    -- Rows of one flow that touch a window. Dividing is left to the asker (`slices_of`): each function of a statement
    -- takes the engine a tenth of a millisecond before it reads anything.
    flow = {flow:UInt64}
    AND slice BETWEEN {first_slice:Int64} AND {last_slice:Int64}
    AND i.time_ns + i.interval_ns > {from_ns:Int64}
    AND i.time_ns <= {to_ns:Int64}

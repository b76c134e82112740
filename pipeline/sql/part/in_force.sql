        valid_from_ns <= {at_ns:Int64}
        AND (told_ns, valid_from_ns) >= (SELECT max((told_ns, valid_from_ns)) FROM hops WHERE valid_from_ns <= {at_ns:Int64})

-- Which length of intervals answers: the longest that suits, or else the shortest (pipeline/lengths.py).
    multiIf(
        countIf(interval_ns BETWEEN {least_ns:Int64} AND {most_ns:Int64}) > 0,
        maxIf(interval_ns, interval_ns BETWEEN {least_ns:Int64} AND {most_ns:Int64}),
        {least_ns:Int64} > 0, 0,
        min(interval_ns)
    )

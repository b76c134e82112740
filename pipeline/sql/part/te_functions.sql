-- Quantiles of a histogram of log buckets, 8 an octave, and the number of flows behind registers of a sketch.
(told, first, most) -> if(
    empty(told.1),
    [],
    arrayMap(
        b -> if(b = 0, 0, least(exp2(first + (b - 0.5) / 8), toFloat64(ifNull(most, 0)))),
        arrayReduce('quantilesExactWeighted(0.01, 0.1, 0.5, 0.9, 0.99)', told.1, told.2)
    )
) AS quantiles,
(ranks) -> toUInt64(round(if(
    length(ranks) < 256 AND 47075 <= 640 * (256 - length(ranks) + arraySum(r -> exp2(-r), ranks)),
    256 * log(256 / greatest(256 - length(ranks), 1)),
    47075 / (256 - length(ranks) + arraySum(r -> exp2(-r), ranks))
))) AS estimate,

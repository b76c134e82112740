-- Quantiles of a histogram of log buckets, 8 an octave, and the number of flows behind registers of a sketch: a bucket
-- or register of several rows stands there several times.
(buckets, counts, first, fewest, most) -> if(
    arraySum(counts) = 0,
    [],
    arrayMap(
        b ->
-- part: middle
        ,
        arrayReduce('quantilesExactWeighted(0.01, 0.1, 0.5, 0.9, 0.99)', buckets, counts)
    )
) AS quantiles,
(registers, ranks) -> arraySort(arrayMap((r, k) -> toUInt32(r) * 256 + k, registers, ranks)) AS touched,
(met) -> arrayFilter(
    (here, next) -> bitShiftRight(here, 8) != bitShiftRight(next, 8),
    met,
    arrayResize(arrayPopFront(met), length(met), 4294967295)
) AS largest,
(ranks) -> toUInt64(round(if(
    length(ranks) < 256 AND 47075 <= 640 * (256 - length(ranks) + arraySum(k -> exp2(-bitAnd(k, 255)), ranks)),
    256 * log(256 / greatest(256 - length(ranks), 1)),
    47075 / (256 - length(ranks) + arraySum(k -> exp2(-bitAnd(k, 255)), ranks))
))) AS estimate,

-- The middle of log bucket `b`, 8 an octave from `first` on: no less than what was `fewest`, no more than what was `most`.
greatest(
    if(b = 0, 0, least(exp2(first + (b - 0.5) / 8), toFloat64(ifNull(most, 0)))),
    toFloat64(fewest)
)

-- The middle of log bucket `b`, 8 an octave from `first` on, and no more than what was `most`.
if(b = 0, 0, least(exp2(first + (b - 0.5) / 8), toFloat64(ifNull(most, 0))))

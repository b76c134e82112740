-- Query `flow_of_key` of several askers at once: which flows have these ends?
SELECT
    src_hi,
    src_lo,
    dst_hi,
    dst_lo,
    sport,
    dport,
-- part: flow_parts
PREWHERE (f.src_hi, f.src_lo, f.dst_hi, f.dst_lo, f.sport, f.dport) IN arrayZip(
    {src_hi:Array(UInt64)}, {src_lo:Array(UInt64)}, {dst_hi:Array(UInt64)}, {dst_lo:Array(UInt64)},
    {sport:Array(UInt16)}, {dport:Array(UInt16)}
)
    AND hasAny({tenants:Array(String)}, ['*', f.owner])
SETTINGS max_threads = 1

-- Query `flow_of_key` of several askers at once: which flows have these ends?
SELECT
    ends,
-- part: flow_parts
PREWHERE f.ends IN {ends:Array(UInt64)}
    AND hasAny({tenants:Array(String)}, ['*', f.owner])
SETTINGS max_threads = 1, query_plan_enable_optimizations = 0

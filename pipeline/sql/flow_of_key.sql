-- Which flows have these ends? Several, where tenants, networks or protocols share addresses.
-- A flow has a row a part of the table, which `flow_finding.py` joins, and sifts by protocol and network: to join them
-- here, and to write out the addresses that the asker gave, takes as long again.
SELECT
-- part: flow_parts
PREWHERE f.ends = {ends:UInt64}
    AND hasAny({tenants:Array(String)}, ['*', f.owner])
SETTINGS max_threads = 1, query_plan_enable_optimizations = 0

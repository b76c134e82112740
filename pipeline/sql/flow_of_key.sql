-- Which flows have these ends? Several, where tenants, networks or protocols share addresses.
-- A flow has a row a part of the table, which `found_flows.py` joins, and sifts by protocol and network: to join them
-- here, and to write out the addresses that the asker gave, takes as long again.
SELECT
-- part: flow_parts
PREWHERE f.src_hi = {src_hi:UInt64} AND f.src_lo = {src_lo:UInt64}
    AND f.dst_hi = {dst_hi:UInt64} AND f.dst_lo = {dst_lo:UInt64}
    AND f.sport = {sport:UInt16} AND f.dport = {dport:UInt16}
    AND hasAny({tenants:Array(String)}, ['*', f.owner])
SETTINGS max_threads = 1

-- How many flows were seen?
SELECT uniqExact(flow) AS flows FROM flows WHERE hasAny({tenants:Array(String)}, ['*', owner])

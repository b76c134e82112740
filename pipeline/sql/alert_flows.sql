-- Flows and their bottleneck in a window, a row each, that a filter keeps: what rules over flows look at.
SELECT *
FROM (
-- part: flow_rows
) AS here
-- filter: flow_cells
ORDER BY flow
LIMIT {rows:UInt32}

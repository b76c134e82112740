-- Links and their load in a window, a row each, that a filter keeps: what rules over links look at.
SELECT *
FROM (
-- part: link_rows
) AS here
-- filter: load_cells
ORDER BY node, port
LIMIT {rows:UInt32}

SELECT node, port
FROM (
-- part: link_rows
) AS here
WHERE
-- condition

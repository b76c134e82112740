SELECT flow
FROM (
-- part: flow_rows
) AS here
WHERE
-- condition

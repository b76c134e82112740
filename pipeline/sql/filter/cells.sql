WHERE
-- condition

    -- Who owns a flow, and its ends; GROUP BY flow follows.
    SELECT
        flow,
        max(f.owner) AS owner,
-- part: flow_network
-- part: flow_ends
        any(f.cc) AS cc
    FROM flows AS f

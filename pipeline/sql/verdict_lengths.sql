-- Of which lengths are there verdicts that touch a window?
SELECT DISTINCT interval_ns
FROM verdicts AS i
PREWHERE
-- part: in_window
WHERE
    has({tenants:Array(String)}, '*')
    OR i.flow IN (SELECT flow FROM flows WHERE has({tenants:Array(String)}, owner))
ORDER BY interval_ns

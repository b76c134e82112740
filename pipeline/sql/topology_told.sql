-- When the topology was told last, by the clock of whoever told it.
SELECT max(told_ns) AS told_ns FROM hops

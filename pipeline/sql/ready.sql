-- That the store answers, and how many verdicts it holds.
SELECT count() AS verdicts FROM verdicts

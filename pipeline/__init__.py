"""Observations in; flow state, hop load and verdicts in a store out."""

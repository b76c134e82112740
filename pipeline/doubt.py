"""What cannot be true of the telemetry behind a verdict, by name and in words."""

FINER = "interval_finer_than_csig"
"""What tells of the hop is measured over a longer time than the interval."""

"""What each command of `hopsight` does, a file a command; `service/cli.py` says how it is typed."""

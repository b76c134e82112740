"""HTTP API, console, metrics and the `hopsight` command."""

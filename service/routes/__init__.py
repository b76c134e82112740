"""The routes of the HTTP API, a file a subject."""

"""The web pages: static files, no build step, one more client of the API without other access."""

"""The web pages (static files, no build step): one more client of the API, with no access of their own."""

"""One module per revision, in order; a released one is never edited again."""

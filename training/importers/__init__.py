"""Real metrics: from CSV files and Prometheus range data to training rows.

- `series`: one column of numbers over time, as public traces have it.
- `times`: what a cell says about time, as UTC epoch seconds.
"""

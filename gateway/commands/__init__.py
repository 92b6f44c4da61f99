"""The commands of `python -m gateway`: their options, and what each starts."""

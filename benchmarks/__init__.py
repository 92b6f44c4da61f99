"""Benchmarks, each `python -m benchmarks.NAME [--quick] [--json]`, run from the tree.

Each measures us and a comparison in the same run on the same work and prints what it measured;
no figure is written down in code.
"""

"""From rows to a version: queue laws by least squares, networks by descent, what both score.

The only package that imports torch. Knows data sets, and nothing of where they came from.
"""

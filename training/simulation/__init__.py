"""Data centres with known truth: worlds, arrivals, physics, and the best split of each minute.

Reads `world` (what a place is) and draws over it; never asks a strategy and never trains.
"""

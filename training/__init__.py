"""Simulator with known truth, data sets, training, evaluation: `python -m training`, a process.

Imports `controlplane.domain` and `models`. The only package that imports torch.
"""

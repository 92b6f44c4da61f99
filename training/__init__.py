"""Simulator with known truth, data sets, training and evaluation, `python -m training`: a process of its own.

Imports `controlplane.domain` and `models`. The only package that imports torch.
"""

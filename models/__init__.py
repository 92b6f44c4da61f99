"""The networks that are served: the numpy forward pass, the saved artifact and its checks.

Imports nothing of ours, and never torch.
"""

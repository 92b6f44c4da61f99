"""The envelope: an ordered tuple of guards between every proposal and every data plane.

- limits: the values of the guards, which are settings
- state: what the guards remember from one cycle to the next
- envelope: the order, and `judge`, which runs it
"""

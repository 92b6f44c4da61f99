"""Shared state of an agent that is alone: in its memory, gone when it ends.

`expiring` the bounded store that all of them keep their keys in. One event loop uses them, and no
method waits for anything, so each call is atomic.
"""

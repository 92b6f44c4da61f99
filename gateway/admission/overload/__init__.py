"""The kind `overload` at work: each declared read of a protected upstream once at a time.

`watch` how much is asked of an upstream; `cache` answers of this agent and of all; `copies` of what
goes through; `turns` the wait for an answer or the token; `protecting` the policy as it is asked.
"""

"""One router for each group of resources under /v1.

Each module has the wire shapes that only it uses, and endpoints that translate, call the engine
once and translate back. No endpoint decides anything about traffic.
"""

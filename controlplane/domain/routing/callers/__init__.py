"""Who calls, and what he may call.

`policies` how callers show who they are, and what consumers may do; `authorization` the answer for
one request, `signatures` and `jwks` what is checked for it; `grant_classes` and `support` for
compilers: grants in files, and what a data plane cannot check.
"""

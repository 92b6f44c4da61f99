"""Overload: an upstream that bears less than is read of it gets each declared read once at a time.

`policy` what is declared; `reads` which declared read a request is; `window` how much was asked of
an upstream; `deciding` what becomes of a request; `sharing` whose answer may be given to others;
`line` the token of one read and those who wait for it. After the overload protection of an
upstream ticketing system (S0).
"""

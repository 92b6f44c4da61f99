"""Instance choice: which address of a service gets the next request.

`placement` says what the configuration means (tiers, parts of each address), `serving` what of it
is left while some addresses are out; `smooth`, `hashing` and `connections` choose among those.
Which are out, `health.ejection` says. The compilers of data planes read `placement`, clients all
of it. Names are `ADDRESS:PORT`.
"""

"""Routes for data planes. Called by their compilers.

`selection` what a plane can express, `closing` what becomes of guards that it cannot, `choices` a
route as tests and one version of its service; then a host's routes in the form that a plane can
look up: `places` for tables of whole segments, `prefix_keys` for those of raw text, `grouped_lists`
(with `overlaps`) for long lists at one key. `pcre` the expressions of planes that have it.
"""

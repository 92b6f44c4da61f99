"""The life of a route, from a draft to its end.

`release` its states and how a gray release goes, `gates` when that may take a step, `in_force`
the routes that a snapshot gets at a time; `checks` the test requests before each publication;
`revision` what a publication changed.
"""

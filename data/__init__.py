"""Example fleets, traces and sample metrics: files only, found with `importlib.resources`.

This docstring is all the code here: it makes the folder a package, so that
`files("data").joinpath("fleets", "demo.yaml")` is a plain path from the tree, from an editable
installation and from a wheel.
"""

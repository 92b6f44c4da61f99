"""An example fleet, a simulated world, a trace: files only, found with `importlib.resources`.

This docstring is all the code here: it makes the folder a package, so that
`files("data").joinpath("fleets", "two-centers.yaml")` is a plain path from the tree, from an
editable installation and from a wheel.
"""

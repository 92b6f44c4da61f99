"""Active checks of endpoints, one module for each kind; each implements `ports.health.Checker`.

`http` asks a path, `tcp` connects, `command` runs a program. Thresholds and intervals are not
decided here.
"""

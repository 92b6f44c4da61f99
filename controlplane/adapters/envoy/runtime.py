"""Runtime switches that every Envoy of ours starts with.

Read by `bootstrap` and by `preflight`, so that both judge a regular expression alike.
"""

from envoy.config.bootstrap.v3 import bootstrap_pb2

# RE2's default of 100 refuses ordinary expressions of thirty characters.
RUNTIME_LAYER = "signalbox"
MAX_PROGRAM_SIZE = "re2.max_program_size.error_level"
MAX_PROGRAM_SIZE_VALUE = 5_000


def program_size_layer() -> bootstrap_pb2.RuntimeLayer:
    """The layer that raises the limit of compiled regular expressions."""
    layer = bootstrap_pb2.RuntimeLayer(name=RUNTIME_LAYER)
    layer.static_layer[MAX_PROGRAM_SIZE] = MAX_PROGRAM_SIZE_VALUE
    return layer

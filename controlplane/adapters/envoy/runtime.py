"""Runtime switches that every Envoy of ours starts with.

Read by `bootstrap` and by `preflight`, so that both judge a regular expression alike.
"""

from envoy.config.bootstrap.v3 import bootstrap_pb2

from controlplane.domain.routing.expressions import LARGEST_PROGRAM

RUNTIME_LAYER = "signalbox"
MAX_PROGRAM_SIZE = "re2.max_program_size.error_level"


def program_size_layer() -> bootstrap_pb2.RuntimeLayer:
    """The layer that raises the limit of compiled regular expressions."""
    layer = bootstrap_pb2.RuntimeLayer(name=RUNTIME_LAYER)
    layer.static_layer[MAX_PROGRAM_SIZE] = LARGEST_PROGRAM
    return layer

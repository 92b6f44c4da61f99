"""The caller's address as a fact that routes can compare.

Called by `listeners`. Envoy's route tables look at headers only, but a route may ask for a fact of
the connection. So the address is noted when the connection begins, before the first request is
routed; no caller can set it. It stands in every listener: a change of filters would not reach
connections that are open already.
"""

from envoy.config.core.v3 import substitution_format_string_pb2
from envoy.config.listener.v3 import listener_components_pb2
from envoy.extensions.filters.common.set_filter_state.v3 import value_pb2
from envoy.extensions.filters.network.set_filter_state.v3 import set_filter_state_pb2

from controlplane.adapters.envoy.packing import packed

SOURCE_KEY = "signalbox.source"


def source_filter() -> listener_components_pb2.Filter:
    """The network filter; it stands before the HTTP connection manager."""
    address = substitution_format_string_pb2.SubstitutionFormatString()
    address.text_format_source.inline_string = "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%"
    value = value_pb2.FilterStateValue(
        object_key=SOURCE_KEY,
        factory_key="envoy.network.ip",
        format_string=address,
        read_only=True,
    )
    config = set_filter_state_pb2.Config(on_new_connection=[value])
    return listener_components_pb2.Filter(name="source", typed_config=packed(config))

"""Retries: which requests may be repeated, said once in the listener and once for each host.

Called by `listeners` and by `routes`. A request that is harmless to repeat is retried whenever an
attempt fails; any other only while no endpoint has seen it, and its attempts have no time limit of
their own. Envoy takes this difference from headers, so that routes need not say it: with a table
for each kind of method a push was four times as large. What is sent on gets one from its host; one
filter sets them for the requests that are not harmless, so that the others pay for its question
only. Callers cannot set these headers: listeners remove them from what comes in.
"""

from envoy.config.core.v3 import base_pb2
from envoy.config.route.v3 import route_components_pb2 as route_pb2
from envoy.extensions.filters.http.header_mutation.v3 import header_mutation_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)
from envoy.extensions.retry.host.previous_hosts.v3 import previous_hosts_pb2
from envoy.extensions.retry.priority.previous_priorities.v3 import (
    previous_priorities_config_pb2 as previous_priorities_pb2,
)
from google.protobuf.wrappers_pb2 import UInt32Value
from xds.type.matcher.v3 import string_pb2

from controlplane.adapters.envoy.delegates import any_of, header_is, http_filter
from controlplane.adapters.envoy.packing import milliseconds, packed
from controlplane.domain.services import RetryPolicy

# A request that may be sent twice without harm (RFC 9110, section 9.2.2). PUT and DELETE are left
# out, because applications often do not keep to it.
IDEMPOTENT = ("GET", "HEAD", "OPTIONS")
# These two mean that no endpoint has seen the request.
RETRY_UNSEEN = "connect-failure,refused-stream"
RETRY_ON, ATTEMPT_LIMIT = "x-envoy-retry-on", "x-envoy-upstream-rq-per-try-timeout-ms"
RETRY_SEEN = "reset-before-request,reset,gateway-error"
RETRY_ERRORS = f"{RETRY_SEEN},5xx"
OTHER_HOSTS_TRIES = 5
RETRY_BACK_OFF_MS, RETRY_BACK_OFF_MAX_MS = 10, 50
# The first retry goes to another endpoint of the same priority, so that one bad endpoint does
# not spill onto a centre that stands at weight 0; from the second on a dead priority is left.
PRIORITY_AFTER_ATTEMPTS = 2


def retry_policy(retry: RetryPolicy) -> route_pb2.RetryPolicy:
    """Retries for all requests; the filters say more for the idempotent ones."""
    return route_pb2.RetryPolicy(
        retry_on=RETRY_UNSEEN,
        num_retries=UInt32Value(value=retry.attempts),
        per_try_timeout=milliseconds(retry.per_try_timeout_ms),
        retry_priority=_other_priorities(),
        retry_host_predicate=[_other_hosts()],
        host_selection_retry_max_attempts=OTHER_HOSTS_TRIES,
        retry_back_off=route_pb2.RetryPolicy.RetryBackOff(
            base_interval=milliseconds(RETRY_BACK_OFF_MS),
            max_interval=milliseconds(RETRY_BACK_OFF_MAX_MS),
        ),
    )


def retry_filter() -> manager_pb2.HttpFilter:
    """The HTTP filter for requests that may not be repeated once an endpoint has seen them."""
    methods = [header_is(":method", string_pb2.StringMatcher(exact=name)) for name in IDEMPOTENT]
    message = header_mutation_pb2.HeaderMutation()
    option = base_pb2.HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD
    for header in ((RETRY_ON, RETRY_UNSEEN), (ATTEMPT_LIMIT, "0")):
        message.mutations.request_mutations.add().append.CopyFrom(_header(*header, option))
    return http_filter(
        "retry-unseen", "envoy.filters.http.header_mutation", message, any_of(methods)
    )


def retry_header() -> base_pb2.HeaderValueOption:
    """What a host says of all other requests; Envoy's router takes it out again."""
    return _header(RETRY_ON, RETRY_SEEN, base_pb2.HeaderValueOption.ADD_IF_ABSENT)


def errors_header() -> base_pb2.HeaderValueOption:
    """What the route of a service says whose errors are retried, too; a route comes before its
    host, and the filter for requests that may not be repeated before both."""
    return _header(RETRY_ON, RETRY_ERRORS, base_pb2.HeaderValueOption.ADD_IF_ABSENT)


def _header(
    name: str, value: str, option: base_pb2.HeaderValueOption.HeaderAppendAction.ValueType
) -> base_pb2.HeaderValueOption:
    header = base_pb2.HeaderValue(key=name, value=value)
    return base_pb2.HeaderValueOption(header=header, append_action=option)


def _other_priorities() -> route_pb2.RetryPolicy.RetryPriority:
    config = previous_priorities_pb2.PreviousPrioritiesConfig(
        update_frequency=PRIORITY_AFTER_ATTEMPTS
    )
    return route_pb2.RetryPolicy.RetryPriority(name="other", typed_config=packed(config))


def _other_hosts() -> route_pb2.RetryPolicy.RetryHostPredicate:
    return route_pb2.RetryPolicy.RetryHostPredicate(
        name="other",
        typed_config=packed(previous_hosts_pb2.PreviousHostsPredicate()),
    )

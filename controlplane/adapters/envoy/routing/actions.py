"""What a rule does with a request that it matches, as an Envoy route.

Called by `configuration`, once for each rule.
"""

import re
from dataclasses import replace

from envoy.config.core.v3 import base_pb2
from envoy.config.route.v3 import route_components_pb2 as route_pb2
from google.protobuf.wrappers_pb2 import BoolValue, UInt32Value

from controlplane.adapters.envoy.callers import mark
from controlplane.adapters.envoy.clusters import cluster_name
from controlplane.adapters.envoy.concurrency import held_back
from controlplane.adapters.envoy.derived_clusters import queue_name
from controlplane.adapters.envoy.packing import milliseconds
from controlplane.adapters.envoy.rates import counted
from controlplane.adapters.envoy.retries import errors_header, retry_policy
from controlplane.adapters.envoy.routing.conditions import route_match
from controlplane.adapters.envoy.routing.expressible import Services
from controlplane.adapters.envoy.sessions import name_cookie
from controlplane.adapters.envoy.sticky import hash_policy
from controlplane.domain.routing.route import (
    FixedResponse,
    HeaderChanges,
    PathMatch,
    PathMatchType,
    Redirect,
    Rewrite,
    Route,
)
from controlplane.domain.services import RetryPolicy
from controlplane.domain.snapshot import ServiceEndpoints

TEXT = "text/plain"
CODES = {
    301: route_pb2.RedirectAction.MOVED_PERMANENTLY,
    302: route_pb2.RedirectAction.FOUND,
    303: route_pb2.RedirectAction.SEE_OTHER,
    307: route_pb2.RedirectAction.TEMPORARY_REDIRECT,
    308: route_pb2.RedirectAction.PERMANENT_REDIRECT,
}
_OVERWRITE = base_pb2.HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD


def envoy_route(route: Route, services: Services, usual: RetryPolicy) -> route_pb2.Route:
    """The whole route.

    Args:
        usual: the host's retries, which a route does not repeat.
    """
    message = route_pb2.Route(match=route_match(route))
    if route.redirect is not None:
        message.redirect.CopyFrom(_redirect(route.redirect))
    elif route.response is not None:
        _respond(message, route.response)
    else:
        service = services[route.service]
        message.route.CopyFrom(_forward(route, service, usual))
        counted(message, service)
        held_back(message, service)
        if service.retry.server_errors:
            message.request_headers_to_add.append(errors_header())
    _change_headers(message, route)
    mark(message, route)
    name_cookie(message, services.get(route.service))
    return message


def retry_of(route: Route, service: ServiceEndpoints) -> RetryPolicy:
    """The retries of a route: its own number of them, or the service's."""
    if route.retries is None:
        return service.retry
    return replace(service.retry, attempts=route.retries)


def _forward(route: Route, service: ServiceEndpoints, usual: RetryPolicy) -> route_pb2.RouteAction:
    timeout_ms = service.timeout_ms if route.timeout_ms is None else route.timeout_ms
    action = route_pb2.RouteAction(timeout=milliseconds(timeout_ms))
    queue = route.id if route.queue is not None else ""
    if route.versions:
        for part in route.versions:
            if part.weight:
                action.weighted_clusters.clusters.add(
                    name=queue_name(cluster_name(route.service, part.version), queue),
                    weight=UInt32Value(value=part.weight),
                )
        # The same user gets the same version as long as the weights stay.
        action.weighted_clusters.use_hash_policy.CopyFrom(BoolValue(value=True))
    else:
        action.cluster = queue_name(route.service, queue)
    if route.versions or service.load_balancing.sticky:
        action.hash_policy.extend(hash_policy())
    retry = retry_of(route, service)
    if retry != usual:
        action.retry_policy.CopyFrom(retry_policy(retry))
    if route.rewrite is not None:
        _rewrite(action, route.path, route.rewrite)
    return action


def _rewrite(action: route_pb2.RouteAction, path: PathMatch, rewrite: Rewrite) -> None:
    if rewrite.host:
        action.host_rewrite_literal = rewrite.host
    if rewrite.path:
        _replace(action, "/.*", rewrite.path)
    elif rewrite.prefix and path.type is PathMatchType.PATH_PREFIX:
        if path.value == "/":
            action.prefix_rewrite = f"{rewrite.prefix.rstrip('/')}/"
        elif rewrite.prefix == "/":
            # As a plain prefix it would leave two slashes.
            _replace(action, f"^{re.escape(path.value)}/*", "/")
        else:
            action.prefix_rewrite = rewrite.prefix.rstrip("/")


def _replace(action: route_pb2.RouteAction, expression: str, by: str) -> None:
    action.regex_rewrite.pattern.regex = expression
    action.regex_rewrite.substitution = by.replace("\\", r"\\")


def _redirect(redirect: Redirect) -> route_pb2.RedirectAction:
    message = route_pb2.RedirectAction(response_code=CODES[redirect.status])
    if redirect.scheme:
        message.scheme_redirect = redirect.scheme
    if redirect.host:
        message.host_redirect = redirect.host
    if redirect.path:
        message.path_redirect = redirect.path
    return message


def _respond(message: route_pb2.Route, response: FixedResponse) -> None:
    message.direct_response.status = response.status
    if not response.body:
        return
    message.direct_response.body.inline_string = response.body
    if response.content_type != TEXT:
        message.response_headers_to_add.append(_header("content-type", response.content_type))


def _change_headers(message: route_pb2.Route, route: Route) -> None:
    request = route.request_headers or HeaderChanges()
    response = route.response_headers or HeaderChanges()
    message.request_headers_to_add.extend(_header(*pair) for pair in request.set)
    message.request_headers_to_remove.extend(request.remove)
    message.response_headers_to_add.extend(_header(*pair) for pair in response.set)
    message.response_headers_to_remove.extend(response.remove)


def _header(name: str, value: str) -> base_pb2.HeaderValueOption:
    # A percent sign would begin a variable of Envoy's.
    header = base_pb2.HeaderValue(key=name, value=value.replace("%", "%%"))
    return base_pb2.HeaderValueOption(
        header=header, append_action=_OVERWRITE, keep_empty_value=True
    )

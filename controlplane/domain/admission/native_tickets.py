"""Tickets that a proxy checks by itself: for which requests, and how Envoy is told.

Who holds a valid ticket for the inside is not asked about. So that nothing is lost by that, a route
has its tickets checked only where its queue is all that an agent would be asked.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.domain.admission.coverage import asked_about
from controlplane.domain.admission.policy import Mode, Policy
from controlplane.domain.admission.session_queue.tickets import ISSUER, cookie_name
from controlplane.domain.routing.route import Route

# As Envoy names its filter, and what a ticket says in its dynamic metadata. No policy about callers
# can have such a name.
FILTER, SAID = "envoy.filters.http.jwt_authn", "~ticket"
TYPE = "type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3"
# Checking a signature costs more than all else that Envoy does for a request.
REMEMBERED = 10_000
# 0 would be Envoy's default of a minute.
SKEW_S = 1

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedQueue:
    """A queue whose tickets proxies check; `keys` are a JWK set."""

    name: str
    keys: str


def checked_queue(policies: Iterable[Policy]) -> CheckedQueue | None:
    """The queue whose tickets proxies check by themselves: the only one that says its keys.

    With several each route would have to name its own, and a proxy that gets routes and filters one
    after the other would refuse what names a queue that it does not know yet.
    """
    found = [
        CheckedQueue(name=policy.name, keys=policy.session_queue.keys)
        for policy in policies
        if policy.mode is Mode.ENFORCE
        and policy.session_queue is not None
        and policy.session_queue.keys
        and not policy.attachment.regions
    ]
    return found[0] if len(found) == 1 else None


def is_all(policies: Iterable[Policy], queue: CheckedQueue, route: Route) -> bool:
    """Whether a queue is all that an agent would be asked about on a route."""
    return [one.name for one in policies if asked_about(one, route)] == [queue.name]


def ticket_filter(keys: Mapping[str, str], everywhere: str = "") -> Json:
    """Envoy's filter that reads tickets; it refuses nobody.

    Args:
        keys: queue -> public keys.
        everywhere: the queue of every request; "" leaves it to routes to name theirs.
    """
    config: dict[str, Any] = {
        "@type": f"{TYPE}.JwtAuthentication",
        "providers": {queue: _provider(queue, known) for queue, known in keys.items()},
    }
    if everywhere:
        config["rules"] = [{"match": {"prefix": "/"}, "requires": _requirement(everywhere)}]
    else:
        config["requirement_map"] = {queue: _requirement(queue) for queue in keys}
    return {"name": FILTER, "typed_config": config}


def unless_admitted(asks: Json) -> Json:
    """The filter that asks, for those only who showed no valid ticket for the inside."""
    enabled = {
        "filter": FILTER,
        "path": [{"key": SAID}, {"key": "adm"}],
        "value": {"bool_match": True},
        "invert": True,
    }
    config = {**asks["typed_config"], "filter_enabled_metadata": enabled}
    return {**asks, "typed_config": config}


def _provider(queue: str, keys: str) -> Json:
    return {
        "issuer": ISSUER,
        "audiences": [queue],
        "from_cookies": [cookie_name(queue)],
        "forward": True,
        "require_expiration": True,
        "payload_in_metadata": SAID,
        "clock_skew_seconds": SKEW_S,
        "jwt_cache_config": {"jwt_cache_size": REMEMBERED},
        "local_jwks": {"inline_string": keys},
    }


def _requirement(queue: str) -> Json:
    either = [{"provider_name": queue}, {"allow_missing_or_failed": {}}]
    return {"requires_any": {"requirements": either}}

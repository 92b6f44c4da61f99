"""Tickets of session queues checked by the proxy itself, so that who is inside costs no call.

Envoy's jwt_authn writes down what a valid ticket for the inside says, and ext_authz is skipped
where it did; everybody else is asked about as ever. HAProxy checks signature, issuer, audience and
expiry in its own lines; it keeps no memory of signatures, Envoy does.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from controlplane.domain.admission.session_queue.tickets import ISSUER, cookie_name
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.callers.jwks import pem, public_keys
from gateway.wiring.plan import Plan

JWT = "envoy.filters.http.jwt_authn"
JWT_TYPE = "type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3"
# What a ticket says, in the dynamic metadata.
SAID = "ticket"
REMEMBERED = 10_000
# 0 would be Envoy's default of a minute.
SKEW_S = 1
ALGORITHM = "ES256"
PER_ROUTE = """\
# Several queues: each route says which one it belongs to, and one without it asks always:
#   typed_per_filter_config: {envoy.filters.http.jwt_authn:
#     {"@type": type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.PerRouteConfig,
#      requirement_name: QUEUE}}
"""


def require_no_tickets(plan: Plan, plane: str) -> None:
    """Refuse a proxy that cannot check tickets: Invalid, `option_invalid`."""
    if plan.queues:
        raise Invalid(
            "option_invalid",
            f"{plane} cannot check tickets: leave --queue out, it asks about every request; or "
            "take envoy or haproxy",
        )


def ticket_filter(plan: Plan) -> Mapping[str, Any]:
    """Envoy's filter that reads tickets; it refuses nobody."""
    config: dict[str, Any] = {
        "@type": f"{JWT_TYPE}.JwtAuthentication",
        "providers": {queue: _provider(queue, plan) for queue in plan.queues},
    }
    if len(plan.queues) == 1:
        (queue,) = plan.queues
        config["rules"] = [{"match": {"prefix": "/"}, "requires": _requirement(queue)}]
    else:
        config["requirement_map"] = {queue: _requirement(queue) for queue in plan.queues}
    return {"name": JWT, "typed_config": config}


def unless_admitted() -> Mapping[str, Any]:
    """When ext_authz asks at all: the claim `adm` of a valid ticket is not true."""
    return {
        "filter": JWT,
        "path": [{"key": SAID}, {"key": "adm"}],
        "value": {"bool_match": True},
        "invert": True,
    }


def _provider(queue: str, plan: Plan) -> Mapping[str, Any]:
    return {
        "issuer": ISSUER,
        "audiences": [queue],
        "from_cookies": [cookie_name(queue)],
        "forward": True,
        "require_expiration": True,
        "payload_in_metadata": SAID,
        "clock_skew_seconds": SKEW_S,
        "jwt_cache_config": {"jwt_cache_size": REMEMBERED},
        "local_jwks": {"inline_string": plan.ticket_keys},
    }


def _requirement(queue: str) -> Mapping[str, Any]:
    either = [{"provider_name": queue}, {"allow_missing_or_failed": {}}]
    return {"requires_any": {"requirements": either}}


def key_files(plan: Plan) -> Iterator[tuple[str, str]]:
    """HAProxy's files: name and PEM of each public key."""
    for number, key in enumerate(public_keys(plan.ticket_keys)):
        yield f"{plan.key_folder}/signalbox-ticket-{number}.pem", pem(key)


def haproxy_lines(plan: Plan) -> Iterator[str]:
    """HAProxy's lines, after which txn.inside is there for who holds a ticket for the inside."""
    for queue in plan.queues:
        yield f"# tickets of {queue}"
        for variable in ("t", "e", "v"):
            yield f"http-request unset-var(txn.{variable})"
        yield f"http-request set-var(txn.t) req.cook({cookie_name(queue)})"
        token = "{ var(txn.t) -m found }"
        yield f"http-request set-var(txn.e) var(txn.t),jwt_payload_query('$.exp','int') if {token}"
        right = f"{{ var(txn.t),jwt_header_query('$.alg') -m str {ALGORITHM} }}"
        for name, _ in key_files(plan):
            verified = f'var(txn.t),jwt_verify("{ALGORITHM}","{name}")'
            once = "!{ var(txn.v) -m int 1 }"
            yield f"http-request set-var(txn.v) {verified} if {token} {right} {once}"
        tests = (
            "{ var(txn.v) -m int 1 }",
            # HAProxy knows no time of its own in a token.
            "{ date,neg,add(txn.e) -m int gt 0 }",
            f"{{ var(txn.t),jwt_payload_query('$.iss') -m str {ISSUER} }}",
            f"{{ var(txn.t),jwt_payload_query('$.aud') -m str {queue} }}",
        )
        yield f"http-request set-var(txn.inside) bool(true) if {token} {' '.join(tests)}"

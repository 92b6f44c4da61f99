"""Tickets of session queues checked by HAProxy itself, so that who is inside costs no call.

It checks signature, issuer, audience and expiry in its own lines, and keeps no memory of
signatures, as Envoy does (`domain.admission.native_tickets`).
"""

from collections.abc import Iterator

from controlplane.domain.admission.session_queue.tickets import ISSUER, cookie_name
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.callers.jwks import pem, public_keys
from gateway.wiring.plan import Plan

ALGORITHM = "ES256"


def require_no_tickets(plan: Plan, plane: str) -> None:
    """Refuse a proxy that cannot check tickets: Invalid, `option_invalid`."""
    if plan.queues:
        raise Invalid(
            "option_invalid",
            f"{plane} cannot check tickets: leave --queue out, it asks about every request; or "
            "take envoy or haproxy",
        )


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

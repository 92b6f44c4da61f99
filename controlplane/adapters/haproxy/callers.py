"""Callers on HAProxy: maps from what they show to consumers, and from consumers to routes.

Called by `render`. When the section of a request is known, a map says which policies it wants and
which class of grants it has; each policy that is wanted looks its credential up by digest. Who is
not found is refused in the frontend, and each guarded section refuses once more by itself.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from controlplane.adapters.haproxy.quoting import word
from controlplane.adapters.haproxy.targets import Target
from controlplane.adapters.haproxy.tokens import key_files, token_lines, unusable_keys
from controlplane.domain.findings import Observation
from controlplane.domain.routing.callers.grant_classes import GrantClass, grant_classes
from controlplane.domain.routing.callers.policies import (
    CONSUMER_HEADER,
    POLICY_HEADER,
    ApiKey,
    CallerMethod,
    CallerPolicy,
    Consumer,
    CredentialType,
)
from controlplane.domain.routing.callers.support import unsupported
from controlplane.domain.routing.route import Part
from controlplane.domain.snapshot import RoutesSection

METHODS = frozenset({CallerMethod.API_KEY, CallerMethod.JWT, CallerMethod.CLIENT_CERTIFICATE})
# What of a client certificate this HAProxy can read.
OF_CERTIFICATES = {
    CredentialType.FINGERPRINT: "ssl_c_der",
    CredentialType.SUBJECT: "ssl_c_s_dn(,0,rfc2253)",
}
SECTIONS_FILE, GRANTS_FILE, QUOTAS_FILE = "callers.map", "grants.map", "quotas.map"
REFUSED = "refused"
# A consumer's table holds one entry for each consumer.
TABLE_SIZE = 100_000
CHALLENGES = {
    CallerMethod.API_KEY: "ApiKey",
    CallerMethod.JWT: "Bearer",
    CallerMethod.CLIENT_CERTIFICATE: "ClientCertificate",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Callers:
    """What a configuration gets: lines of the frontend, further sections, and files by name."""

    lines: tuple[str, ...] = ()
    sections: tuple[tuple[str, ...], ...] = ()
    files: tuple[tuple[str, str], ...] = ()


def callers(section: RoutesSection, zone: str, targets: Iterable[Target]) -> Callers:
    """Everything about the callers of a group in a zone; nothing when no target asks for one."""
    guarded = [one for one in targets if one.route is not None and one.route.authentication]
    if not guarded:
        return Callers()
    checked = {policy.name: policy for policy in section.callers if _can(policy)}
    routes = [one.route for one in guarded if one.route is not None]
    classes = grant_classes(routes, section.consumers, checked, zone)
    quotas = [consumer for consumer in section.consumers if consumer.quota is not None]
    used = {name for one in classes.values() for name in one.policies}
    wanted = [policy for name, policy in checked.items() if name in used]
    return Callers(
        lines=tuple(_lines(wanted, quotas)),
        sections=tuple(_tables(quotas)),
        files=tuple(_files(guarded, classes, wanted, section.consumers)),
    )


def notes(section: RoutesSection) -> Iterator[Observation]:
    """What cannot be checked, so that it refuses."""
    methods = METHODS
    yield from unsupported("HAProxy", methods, section.callers, section.routes)
    for policy in section.callers:
        if policy.jwt is not None and policy.jwt.jwks_service:
            yield _left_out(
                f"caller/{policy.name}",
                f"caller policy {policy.name} fetches its keys from a service: give them inline",
            )
        elif policy.jwt is not None and unusable_keys(policy.jwt):
            yield _left_out(
                f"caller/{policy.name}",
                f"caller policy {policy.name} has Ed25519 keys: sign with another kind",
            )
    for consumer in section.consumers:
        if any(one.type is CredentialType.SAN for one in consumer.credentials):
            yield _left_out(
                f"consumer/{consumer.name}",
                f"consumer {consumer.name} is known by a name in its certificate: give the "
                "certificate's fingerprint or subject",
            )


def _left_out(subject: str, words: str) -> Observation:
    return Observation(
        code="caller_credential_unsupported",
        subject=subject,
        message=f"HAProxy cannot check this: {words}",
        held="such callers are refused there",
    )


def _can(policy: CallerPolicy) -> bool:
    fetched = policy.jwt is not None and bool(policy.jwt.jwks_service)
    return policy.method in METHODS and not fetched


def _files(
    guarded: Iterable[Target],
    classes: Mapping[str, GrantClass],
    policies: Iterable[CallerPolicy],
    consumers: Iterable[Consumer],
) -> Iterator[tuple[str, str]]:
    of_sections = {
        one.name: _wants(classes[one.route.id]) for one in guarded if one.route is not None
    }
    yield SECTIONS_FILE, _map(of_sections)
    yield (
        GRANTS_FILE,
        _map({f"g{one.number}:{name}": "1" for one in classes.values() for name in one.consumers}),
    )
    known = tuple(consumers)
    for policy in policies:
        for kind, found in _credentials(policy, known).items():
            yield _credential_file(policy, kind), _map(found)
        yield from key_files(policy)
    yield (
        QUOTAS_FILE,
        _map({one.name: str(one.quota.requests) for one in known if one.quota is not None}),
    )


def _wants(one: GrantClass) -> str:
    """`g3:key:staff:`; no name of a policy has a colon in it."""
    return f"g{one.number}:{':'.join(one.policies)}:" if one.policies else REFUSED


def _kinds(policy: CallerPolicy) -> tuple[CredentialType, ...]:
    if policy.api_key is not None:
        return (CredentialType.KEY_SHA256,)
    return (CredentialType.CLAIM,) if policy.jwt is not None else tuple(OF_CERTIFICATES)


def _credentials(
    policy: CallerPolicy, consumers: Iterable[Consumer]
) -> dict[CredentialType, dict[str, str]]:
    """Digest -> consumer: a map's key ends at a space, and names of people have some."""
    found: dict[CredentialType, dict[str, str]] = {kind: {} for kind in _kinds(policy)}
    digests = (CredentialType.KEY_SHA256, CredentialType.FINGERPRINT)
    for consumer in consumers:
        for one in consumer.credentials:
            if one.policy == policy.name and one.type in found:
                value = one.value
                if one.type not in digests:
                    value = hashlib.sha256(value.encode()).hexdigest()
                found[one.type][value] = consumer.name
    return found


def _credential_file(policy: CallerPolicy, kind: CredentialType) -> str:
    return f"caller.{policy.name}.{kind}.map"


def _map(entries: Mapping[str, str]) -> str:
    return "".join(f"{key} {value}\n" for key, value in sorted(entries.items()))


def _lines(policies: Iterable[CallerPolicy], quotas: Iterable[Consumer]) -> Iterator[str]:
    yield f"http-request set-var(txn.a) var(txn.s),map_str({SECTIONS_FILE})"
    for policy in policies:
        yield f"# caller/{policy.name}"
        wanted = f"{{ var(txn.a) -m sub :{policy.name}: }}"
        yield "http-request unset-var(txn.c)"
        yield from _shown(policy, wanted)
        yield f'http-request set-var(txn.unknown) str("{CHALLENGES[policy.method]}") if {wanted}'
        yield "http-request set-var(txn.known) bool(true) if { var(txn.c) -m found }"
        yield 'http-request set-var-fmt(txn.g) "%[var(txn.a),field(1,:)]:%[var(txn.c)]"'
        granted = f"{{ var(txn.c) -m found }} {{ var(txn.g),map_str({GRANTS_FILE}) -m found }}"
        first = "!{ var(txn.consumer) -m found }"
        yield f"http-request set-var(txn.policy) str({policy.name}) if {first} {granted}"
        yield f"http-request set-var(txn.consumer) var(txn.c) if {first} {granted}"
    refused = "{ var(txn.a) -m found } !{ var(txn.consumer) -m found }"
    yield f"http-request deny deny_status 403 if {refused} {{ var(txn.known) -m found }}"
    yield f"http-request deny deny_status 403 if {refused} {{ var(txn.a) -m str {REFUSED} }}"
    challenge = 'hdr www-authenticate "%[var(txn.unknown)]"'
    yield f"http-request return status 401 {challenge} if {refused}"
    found = "if { var(txn.consumer) -m found }"
    yield f"http-request set-header {CONSUMER_HEADER} %[var(txn.consumer)] {found}"
    yield f"http-request set-header {POLICY_HEADER} %[var(txn.policy)] {found}"
    yield from _quotas(quotas)


def _shown(policy: CallerPolicy, wanted: str) -> Iterator[str]:
    if policy.api_key is not None:
        yield from _key_lines(policy, policy.api_key, wanted)
    elif policy.jwt is not None:
        found = _credential_file(policy, CredentialType.CLAIM)
        yield from token_lines(policy, policy.jwt, found, wanted)
    else:
        yield from _certificate_lines(policy, wanted)


def _key_lines(policy: CallerPolicy, key: ApiKey, wanted: str) -> Iterator[str]:
    found = _credential_file(policy, CredentialType.KEY_SHA256)
    shown = {
        Part.HEADER: f"req.fhdr({key.name})",
        Part.COOKIE: f"req.cook({key.name})",
        Part.QUERY_PARAM: f"url_param({key.name})",
    }[key.part]
    # Two of them could be read in two ways.
    once = f"{{ req.fhdr_cnt({key.name}) eq 1 }} " if key.part is Part.HEADER else ""
    lookup = f"{shown},sha2(256),hex,lower,map_str({found})"
    yield f"http-request set-var(txn.c) {lookup} if {once}{wanted}"


def _certificate_lines(policy: CallerPolicy, wanted: str) -> Iterator[str]:
    # It was checked for the host that the handshake named, and says nothing to another.
    yield "http-request unset-var(txn.m)"
    yield "http-request set-var(txn.named) req.hdr(host),host_only,lower"
    shown = "{ ssl_c_used } { ssl_c_verify 0 } { ssl_fc_sni,lower,strcmp(txn.named) eq 0 }"
    yield f"http-request set-var(txn.m) bool(true) if {wanted} {shown}"
    valid = "{ var(txn.m) -m found }"
    for kind, fetch in OF_CERTIFICATES.items():
        lookup = f"{fetch},sha2(256),hex,lower,map_str({_credential_file(policy, kind)})"
        yield (f"http-request set-var(txn.c) {lookup} if {valid} !{{ var(txn.c) -m found }}")
    if policy.otherwise:
        rest = f"if {valid} !{{ var(txn.c) -m found }}"
        yield f"http-request set-var(txn.c) str({policy.otherwise}) {rest}"


def _tables(quotas: Iterable[Consumer]) -> Iterator[tuple[str, ...]]:
    for period_s in sorted({one.quota.period_s for one in quotas if one.quota is not None}):
        rate = f"http_req_rate({period_s}s)"
        yield (
            f"backend quota.{period_s}",
            f"stick-table type string len 64 size {TABLE_SIZE} expire {period_s}s store {rate}",
        )


def _quotas(quotas: Iterable[Consumer]) -> Iterator[str]:
    periods: dict[int, list[str]] = {}
    for one in quotas:
        if one.quota is not None:
            periods.setdefault(one.quota.period_s, []).append(one.name)
    if not periods:
        return
    limit = f"var(txn.consumer),map_str_int({QUOTAS_FILE})"
    yield f"http-request set-var(txn.quota) {limit} if {{ var(txn.consumer) -m found }}"
    for period_s, names in sorted(periods.items()):
        table = f"quota.{period_s}"
        for name in sorted(names):
            yield f"acl of.{table} var(txn.consumer) -m str -- {word(name)}"
        yield f"http-request track-sc0 var(txn.consumer) table {table} if of.{table}"
        over = f"{{ sc_http_req_rate(0,{table}),sub(txn.quota) gt 0 }}"
        yield f"http-request deny deny_status 429 if of.{table} {over}"

"""The parts of a fleet document about callers, consumers, certificates and zones."""

import pytest

from controlplane.api.fleet_document.parsing import parse
from controlplane.api.fleet_document.rendering import render
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.callers.policies import (
    ApiKey,
    CallerPolicy,
    ClientCertificate,
    Consumer,
    Credential,
    CredentialType,
    Grant,
    Jwt,
    Quota,
    RequestSignature,
)
from controlplane.domain.routing.route import Part
from controlplane.domain.routing.tls import Certificate, TlsVersion
from controlplane.domain.routing.zones import Zone, ZoneFunction
from controlplane.domain.topology import GatewayGroup

DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
JWKS = '{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "' + "A" * 43 + '"}]}'
SITE = """
datacenters: [{name: dc-east, role: primary, region: r}]
services:
- name: web
  clusters:
  - {datacenter: dc-east, capacity_rps: 10, endpoints: [{address: 127.0.0.1, port: 9001}]}
"""
WHOLE = f"""
gateways:
- {{name: edge, tls_port: 10443, zone: external}}
zones:
- {{name: ticketing, sources: [10.1.0.0/16]}}
- {{name: external, functions: [anonymous, answers]}}
certificates:
- name: site
  chain_file: /etc/signalbox/site/chain.pem
  key_file: /etc/signalbox/site/key.pem
  client_ca_file: /etc/signalbox/partners.pem
  minimum_version: '1.3'
callers:
- {{name: key, api_key: {{}}}}
- {{name: query, api_key: {{part: query_param}}}}
- {{name: machines, client_certificate: {{}}, otherwise: anybody}}
- {{name: signed, signature: {{window_s: 60}}}}
- {{name: staff, jwt: {{issuer: id, audiences: [b, a], claims: {{scope: pay}}, jwks: '{JWKS}'}}}}
- {{name: page, jwt: {{issuer: id, cookie: session, jwks_service: web, jwks_path: /keys}}}}
consumers:
- name: partner
  credentials:
  - {{policy: key, type: key_sha256, value: {DIGEST}}}
  - {{policy: machines, type: san, value: 'spiffe://site/partner'}}
  grants:
  - {{routes: [all]}}
  - {{labels: {{team: pay}}, zones: [external]}}
  quota: {{requests: 5, period_s: 1}}
- name: anybody
routes:
- id: all
  service: web
  hosts: [www.example.com]
  authentication: [staff, key]
  tls: site
  labels: {{team: pay}}
"""


def test_everything_is_read_in_canonical_order_and_written_back() -> None:
    fleet = parse(SITE + WHOLE)
    assert fleet.gateways == (GatewayGroup(name="edge", tls_port=10_443, zone="external"),)
    external = (ZoneFunction.ANONYMOUS, ZoneFunction.ANSWERS)
    assert fleet.zones == (
        Zone(name="external", functions=external),
        Zone(name="ticketing", sources=("10.1.0.0/16",)),
    )
    folder = "/etc/signalbox"
    assert fleet.certificates == (
        Certificate(
            name="site",
            chain_file=f"{folder}/site/chain.pem",
            key_file=f"{folder}/site/key.pem",
            client_ca_file=f"{folder}/partners.pem",
            minimum_version=TlsVersion.V1_3,
        ),
    )
    claims = (("scope", "pay"),)
    assert fleet.callers == (
        CallerPolicy(name="key", api_key=ApiKey()),
        CallerPolicy(name="machines", client_certificate=ClientCertificate(), otherwise="anybody"),
        CallerPolicy(
            name="page",
            jwt=Jwt(issuer="id", cookie="session", jwks_service="web", jwks_path="/keys"),
        ),
        CallerPolicy(name="query", api_key=ApiKey(part=Part.QUERY_PARAM, name="api_key")),
        CallerPolicy(name="signed", signature=RequestSignature(window_s=60)),
        CallerPolicy(
            name="staff", jwt=Jwt(issuer="id", audiences=("a", "b"), claims=claims, jwks=JWKS)
        ),
    )
    spiffe = "spiffe://site/partner"
    assert fleet.consumers == (
        Consumer(name="anybody"),
        Consumer(
            name="partner",
            credentials=(
                Credential(policy="key", type=CredentialType.KEY_SHA256, value=DIGEST),
                Credential(policy="machines", type=CredentialType.SAN, value=spiffe),
            ),
            grants=(
                Grant(labels=(("team", "pay"),), zones=("external",)),
                Grant(routes=("all",)),
            ),
            quota=Quota(requests=5, period_s=1),
        ),
    )
    assert fleet.routes[0].authentication == ("key", "staff")
    assert parse(render(fleet)) == fleet


@pytest.mark.parametrize(
    ("section", "path", "allowed"),
    [
        ("callers: [{name: a}]", "callers[0]", "exactly one of"),
        ("callers: [{name: a, api_key: {}, signature: {}}]", "callers[0]", "exactly one of"),
        ("callers: [{name: a, api_key: {name: X-Key}}]", "callers[0].api_key.name", "lower case"),
        ("callers: [{name: a, api_key: {name: x-consumer}}]", "callers[0].api_key.name", "another"),
        ("callers: [{name: a, api_key: {name: 'a b'}}]", "callers[0].api_key.name", "1..64"),
        (
            "callers: [{name: a, api_key: {}, otherwise: c}]\nconsumers: [{name: c}]",
            "callers[0].otherwise",
            "jwt or client_certificate",
        ),
        ("callers: [{name: a, client_certificate: {}, otherwise: c}]", "callers[0].otherwise", ""),
        ("callers: [{name: a, jwt: {issuer: i}}]", "callers[0].jwt", "exactly one of jwks"),
        (
            "callers: [{name: a, jwt: {issuer: i, jwks_service: web, cookie: c, header: d}}]",
            "callers[0].jwt.header",
            "header or cookie",
        ),
        (
            "callers: [{name: a, jwt: {issuer: i, jwks_service: gone}}]",
            "callers[0].jwt.jwks_service",
            "a declared service",
        ),
        (
            "certificates: [{name: a, chain_file: a/b, key_file: /a/b}]",
            "certificates[0].chain_file",
            "",
        ),
        (
            "certificates: [{name: a, chain_file: /.., key_file: /a}]",
            "certificates[0].chain_file",
            "",
        ),
        ("callers: [{name: a, jwt: {issuer: i, jwks: '{}'}}]", "callers[0].jwt.jwks", "`keys`"),
        (
            f"callers: [{{name: a, jwt: {{issuer: i, jwks: '{' ' * 65_537}'}}}}]",
            "callers[0].jwt.jwks",
            "65536",
        ),
        (
            "consumers: [{name: c, credentials: [{policy: p, type: san, value: a}]}]",
            "consumers[0].credentials[0].policy",
            "a declared caller policy",
        ),
        (
            "callers: [{name: a, api_key: {}}]\n"
            "consumers: [{name: c, credentials: [{policy: a, type: san, value: a}]}]",
            "consumers[0].credentials[0].type",
            "key_sha256",
        ),
        (
            "callers: [{name: a, api_key: {}}]\n"
            "consumers: [{name: c, credentials: [{policy: a, type: key_sha256, value: a}]}]",
            "consumers[0].credentials[0].value",
            "64 hexadecimal",
        ),
        (
            "consumers: [{name: c, grants: [{routes: [gone]}]}]",
            "consumers[0].grants[0].routes[0]",
            "",
        ),
        (
            "consumers: [{name: c, grants: [{zones: [gone]}]}]",
            "consumers[0].grants[0].zones[0]",
            "",
        ),
        ("consumers: [{name: c, quota: {requests: 0}}]", "consumers[0].quota.requests", "1.."),
        (
            "certificates: [{name: c, chain_file: /a/c.pem, key_file: /b/k.pem}]",
            "certificates[0].key_file",
            "a file in /a",
        ),
        ("zones: [{name: z, functions: [magic]}]", "zones[0].functions[0]", "anonymous"),
        ("zones: [{name: z, sources: [10.0.0.1/8]}]", "zones[0].sources[0]", "10.0.0.0/8"),
        ("gateways: [{name: g, zone: z}]", "gateways[0].zone", "a declared zone"),
        ("gateways: [{name: g, listen_port: 80, tls_port: 80}]", "gateways[0].tls_port", "another"),
        (
            "zones: [{name: z, functions: [l4]}]\ngateways: [{name: g, zone: z}, {name: h}]\n"
            "routes: [{id: r, service: web},"
            " {id: s, service: web, gateways: [g, h], path: {value: /s}}]",
            "routes",
            "zone has anonymous",
        ),
        ("routes: [{id: r, service: web, tls: t}]", "routes[0].tls", "a declared certificate"),
        (
            "routes: [{id: r, service: web, authentication: [k]}]",
            "routes[0].authentication[0]",
            "a declared caller policy",
        ),
        (
            "routes: [{id: r, service: web, conditions: [{name: x-consumer, value: a}]}]",
            "routes[0].conditions[0].name",
            "another header",
        ),
    ],
)
def test_what_is_wrong_is_told_at_its_place(section: str, path: str, allowed: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse(SITE + section)
    errors = caught.value.details["errors"]
    assert isinstance(errors, list)
    assert [error["path"] for error in errors] == [path]
    assert allowed in errors[0]["allowed"]


def test_two_consumers_never_share_a_credential() -> None:
    one = f"credentials: [{{policy: key, type: key_sha256, value: {DIGEST}}}]"
    text = f"{SITE}callers: [{{name: key, api_key: {{}}}}]\nconsumers:\n- {{name: a, {one}}}\n"
    parse(text)
    with pytest.raises(Invalid, match="each only once"):
        parse(f"{text}- {{name: b, {one}}}\n")


def test_a_private_key_is_refused_and_not_repeated() -> None:
    private = JWKS.replace('"x"', '"d": "TOPSECRET", "x"')
    with pytest.raises(Invalid) as caught:
        parse(f"{SITE}callers: [{{name: a, jwt: {{issuer: i, jwks: '{private}'}}}}]")
    assert "holds a secret" in caught.value.message
    assert "TOPSECRET" not in f"{caught.value.message} {caught.value.details}"

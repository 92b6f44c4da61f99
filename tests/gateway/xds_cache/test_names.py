"""What an agent asks for by name, from listeners as the compiler makes them."""

from dataclasses import replace

from controlplane.adapters.envoy.render import Renderer
from controlplane.domain.routing.callers.policies import CallerPolicy, Jwt
from controlplane.domain.routing.tls import Certificate
from controlplane.domain.xds import ResourceType
from gateway.xds_cache.cache import CachedResponse
from gateway.xds_cache.names import wanted
from tests.adapters.envoy.site import SMALL, snapshot

KEYS = '{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "' + "A" * 43 + '"}]}'
SITE = replace(
    SMALL,
    gateways=tuple(replace(group, tls_port=10_443) for group in SMALL.gateways),
    routes=tuple(replace(route, authentication=("staff",), tls="site") for route in SMALL.routes),
    callers=(CallerPolicy(name="staff", jwt=Jwt(issuer="id", jwks=KEYS)),),
    certificates=(
        Certificate(
            name="site", chain_file="/c/a.pem", key_file="/c/b.pem", client_ca_file="/c/ca.pem"
        ),
    ),
)


def responses() -> dict[ResourceType, CachedResponse]:
    parts = Renderer().render(snapshot(SITE, 1)).parts
    found = {}
    for kind in ResourceType:
        resources = tuple(data for name, data in parts if name.startswith(f"{kind}/"))
        found[kind] = CachedResponse(type=kind, version="1", body=b"", resources=resources)
    return found


def test_everything_that_is_compiled_is_asked_for() -> None:
    held = responses()
    for kind in (ResourceType.EXTENSION, ResourceType.SECRET, ResourceType.ROUTE):
        parts = Renderer().render(snapshot(SITE, 1)).parts
        names = {name.partition("/")[2] for name, _ in parts if name.startswith(f"{kind}/")}
        assert names
        assert wanted(kind, held) == names


def test_without_listeners_nothing_is_asked_for() -> None:
    for kind in (ResourceType.EXTENSION, ResourceType.SECRET, ResourceType.ROUTE):
        assert wanted(kind, {}) == frozenset()
    assert wanted(ResourceType.RUNTIME, responses()) == frozenset()

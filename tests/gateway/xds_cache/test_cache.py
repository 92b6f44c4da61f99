"""The cache on disk: whole files or none."""

from pathlib import Path

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.any_pb2 import Any

from controlplane.adapters.envoy.render import Renderer
from controlplane.domain.errors import Invalid, Refused
from controlplane.domain.xds import TYPE_URLS, ResourceType
from gateway.options import place, require_loopback
from gateway.xds_cache.cache import REMEMBERED_REFUSALS, CachedResponse, DiskCache, response
from gateway.xds_cache.names import wanted
from tests.adapters.envoy.site import SMALL, snapshot

CDS, LDS = ResourceType.CLUSTER, ResourceType.LISTENER


def made(kind: ResourceType, *resources: bytes, version: str = "v1") -> CachedResponse:
    url = TYPE_URLS[kind]
    message = discovery_pb2.DiscoveryResponse(
        type_url=url,
        version_info=version,
        nonce="7",
        resources=[Any(type_url=url, value=data) for data in resources],
    )
    found, nonce = response(message.SerializeToString())
    assert nonce == "7"
    return found


def loaded(folder: Path) -> DiskCache:
    cache = DiskCache(folder)
    cache.load()
    return cache


def keep(cache: DiskCache, *responses: CachedResponse) -> None:
    for one in responses:
        cache.remember(one)
        cache.store(one.type)


def proven(kind: ResourceType, version: str) -> CachedResponse:
    """What an Envoy has acknowledged, as the control plane says it."""
    message = discovery_pb2.DiscoveryResponse(type_url=TYPE_URLS[kind], version_info=version)
    message.control_plane.identifier = "acknowledged"
    return response(message.SerializeToString())[0]


def test_what_is_stored_is_there_after_a_restart(tmp_path: Path) -> None:
    cache = loaded(tmp_path / "new" / "cache")
    stored = made(CDS, b"", version="v2")
    keep(cache, made(CDS), stored)
    assert dict(loaded(tmp_path / "new" / "cache").responses) == {CDS: stored}
    names = {path.name for path in (tmp_path / "new" / "cache").iterdir()}
    assert names == {"cluster.response", "cluster.earlier"}


def test_the_nonce_is_of_the_stream_and_the_rest_as_it_came() -> None:
    kept = made(CDS, b"")
    message = discovery_pb2.DiscoveryResponse.FromString(kept.with_nonce("9"))
    assert (message.nonce, message.version_info, len(message.resources)) == ("9", "v1", 1)


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "other"])
def test_a_damaged_file_is_ignored_and_the_others_hold(tmp_path: Path, damage: str) -> None:
    cache = loaded(tmp_path)
    keep(cache, made(CDS, b""), made(LDS))
    path = tmp_path / "cluster.response"
    data = path.read_bytes()
    path.write_bytes(
        {
            "flip": data[:-1] + bytes([data[-1] ^ 1]),
            "cut": data[:-3],
            "empty": b"",
            "other": (tmp_path / "listener.response").read_bytes(),
        }[damage]
    )
    assert set(loaded(tmp_path).responses) == {LDS}


def test_a_half_written_file_of_an_earlier_run_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "cluster.new").write_bytes(b"half")
    keep(loaded(tmp_path), made(CDS))
    assert set(loaded(tmp_path).responses) == {CDS}


def test_a_folder_that_is_gone_is_an_error_and_memory_holds(tmp_path: Path) -> None:
    cache = loaded(tmp_path / "cache")
    (tmp_path / "cache").rmdir()
    cache.remember(made(CDS))
    with pytest.raises(OSError, match="No such file"):
        cache.store(CDS)
    assert set(cache.responses) == {CDS}


def test_a_damaged_file_falls_back_to_the_one_before(tmp_path: Path) -> None:
    keep(loaded(tmp_path), made(CDS, version="v1"), made(CDS, version="v2"))
    (tmp_path / "cluster.response").write_bytes(b"")
    assert loaded(tmp_path).responses[CDS].version == "v1"


def test_what_the_envoy_refuses_gives_way_to_the_one_before(tmp_path: Path) -> None:
    cache = loaded(tmp_path)
    keep(cache, made(CDS, version="v1"))
    assert not cache.refuse(CDS, "v1", "no")
    assert cache.responses[CDS].version == "v1"
    keep(cache, made(CDS, version="v2"))
    assert not cache.refuse(CDS, "v0", "no")
    assert cache.refuse(CDS, "v2", "bad cluster")
    cache.store(CDS)
    assert cache.responses[CDS].version == "v1"
    assert cache.refusal(made(CDS, version="v2")) == "bad cluster"
    assert cache.refusal(made(CDS, version="v3")) is None
    assert loaded(tmp_path).responses[CDS].version == "v1"


def test_the_one_before_is_the_last_that_an_envoy_acknowledged(tmp_path: Path) -> None:
    cache = loaded(tmp_path)
    keep(cache, made(CDS, version="v0"), proven(CDS, "v1"))
    keep(cache, made(CDS, version="v2"), made(CDS, version="v3"))
    again = loaded(tmp_path)
    assert again.refuse(CDS, "v3", "no")
    assert again.responses[CDS].version == "v1"
    cache.acknowledged(CDS, "v3")
    keep(cache, made(CDS, version="v4"))
    assert cache.refuse(CDS, "v4", "no")
    assert cache.responses[CDS].version == "v3"


def test_refusals_are_remembered_within_bounds(tmp_path: Path) -> None:
    cache = loaded(tmp_path)
    for number in range(2 * REMEMBERED_REFUSALS):
        cache.refuse(CDS, f"v{number}", "no")
    assert len(cache._refused) == REMEMBERED_REFUSALS


def test_only_responses_of_known_types_are_kept() -> None:
    with pytest.raises(Invalid, match="not a DiscoveryResponse"):
        response(b"\xff\xff")
    with pytest.raises(Invalid, match="is not served"):
        response(discovery_pb2.DiscoveryResponse(type_url="other").SerializeToString())


def test_names_come_from_clusters_and_listeners() -> None:
    parts = Renderer().render(snapshot(SMALL, 1)).parts
    kept = {
        kind: made(kind, *(data for name, data in parts if name.startswith(f"{kind}/")))
        for kind in (CDS, LDS)
    }
    assert wanted(ResourceType.ENDPOINT, kept) == {"api", "web"}
    assert wanted(ResourceType.ROUTE, kept) == {"rules"}
    assert wanted(CDS, kept) == wanted(LDS, kept) == frozenset()
    assert wanted(ResourceType.ENDPOINT, {}) == wanted(ResourceType.ROUTE, {}) == frozenset()


def test_resources_that_need_no_other_name_none() -> None:
    static = cluster_pb2.Cluster(name="fixed", type=cluster_pb2.Cluster.STATIC)
    renamed = cluster_pb2.Cluster(name="a", type=cluster_pb2.Cluster.EDS)
    renamed.eds_cluster_config.service_name = "b"
    clusters = made(CDS, static.SerializeToString(), renamed.SerializeToString())
    assert wanted(ResourceType.ENDPOINT, {CDS: clusters}) == {"b"}
    listener = listener_pb2.Listener(name="tcp")
    listener.filter_chains.add().filters.add(name="envoy.filters.network.tcp_proxy")
    listeners = made(LDS, listener.SerializeToString())
    assert wanted(ResourceType.ROUTE, {LDS: listeners}) == frozenset()


@pytest.mark.parametrize(
    ("text", "pair"),
    [("127.0.0.1:18001", ("127.0.0.1", 18001)), ("[::1]:0", ("::1", 0)), ("cp:1", ("cp", 1))],
)
def test_places(text: str, pair: tuple[str, int]) -> None:
    assert place(text) == pair


@pytest.mark.parametrize("text", ["", "host", "host:", ":1", "host:x", "host:65536", "host:-1"])
def test_what_is_no_place_is_said(text: str) -> None:
    with pytest.raises(Invalid, match="HOST:PORT"):
        place(text)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_is_fine(host: str) -> None:
    require_loopback((host, 1))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "edge.example"])
def test_other_addresses_are_refused(host: str) -> None:
    with pytest.raises(Refused, match="--force-listen"):
        require_loopback((host, 1))

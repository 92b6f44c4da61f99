"""Joins the planes of all kinds of proxies, and what shows people a plane's files.

Called by `wiring`. Must know no part of the engine.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from controlplane.adapters.caddy.plane import CaddyPlane
from controlplane.adapters.caddy.render import CaddyOptions
from controlplane.adapters.caddy.render import render as caddy_files
from controlplane.adapters.envoy.ads import AdsOptions, Authorize
from controlplane.adapters.envoy.clearance import ClearanceOptions
from controlplane.adapters.envoy.plane import EnvoyPlane, PlaneOptions
from controlplane.adapters.envoy.preflight import Preflight, find_envoy
from controlplane.adapters.envoy.refusal_file import RefusalFile
from controlplane.adapters.envoy.render import Renderer
from controlplane.adapters.envoy.texts import readable
from controlplane.adapters.file_plane import FilePlane
from controlplane.adapters.haproxy.program import HaproxyProgram, HaproxyProgramOptions
from controlplane.adapters.haproxy.render import HaproxyOptions
from controlplane.adapters.haproxy.render import render as haproxy_files
from controlplane.adapters.nginx.program import NginxProgram, NginxProgramOptions
from controlplane.adapters.nginx.render import NginxOptions
from controlplane.adapters.nginx.render import render as nginx_files
from controlplane.adapters.processes import LocalProcesses
from controlplane.adapters.traefik.render import TraefikOptions
from controlplane.adapters.traefik.render import render as traefik_files
from controlplane.api.dependencies import Rendering
from controlplane.domain.snapshot import Snapshot
from controlplane.ports.outside import Artifact, DataPlane
from controlplane.settings import CaddyGateway, HaproxyGateway, NginxGateway, Settings


def envoy_plane(settings: Settings, authorize: Authorize, now: Callable[[], float]) -> EnvoyPlane:
    """The Envoys, wherever they are: they ask for what they run.

    Args:
        authorize: raises when an Envoy may not ask, by its secret, its id and its gateway group.
        now: epoch seconds.
    """
    named = Path(settings.envoy_binary) if settings.envoy_binary else None
    binary = find_envoy(named) if settings.envoy_preflight == "auto" else None
    options = PlaneOptions(
        ads=AdsOptions(host=settings.ads_host, port=settings.ads_port),
        clearance=ClearanceOptions(
            preflight=Preflight(binary=binary),
            refusals=RefusalFile(path=settings.data_dir / "envoy-refusals.json"),
        ),
    )
    return EnvoyPlane(options, authorize, now)


def proxy_planes(settings: Settings) -> tuple[DataPlane, ...]:
    """The proxies beside Envoy that are configured from here."""
    caddy = settings.caddy
    by_api = () if caddy is None else (_caddy_plane(caddy),)
    return (*_file_planes(settings), *by_api)


def _caddy_plane(gateway: CaddyGateway) -> CaddyPlane:
    options = CaddyOptions(group=gateway.group, admin=gateway.admin)

    def rendered(snapshot: Snapshot, left_out: Mapping[str, str]) -> Artifact:
        return caddy_files(snapshot, options, left_out)

    return CaddyPlane(gateway.group, gateway.admin, rendered)


def _file_planes(settings: Settings) -> list[FilePlane]:
    """The proxies of this machine that are configured by files."""
    planes = []
    if (haproxy := settings.haproxy) is not None:
        at_haproxy = HaproxyProgramOptions(
            directory=haproxy.directory,
            socket=_haproxy_socket(haproxy),
            binary=haproxy.binary,
            reload=haproxy.reload,
        )
        program = HaproxyProgram(at_haproxy, LocalProcesses())
        rendered = partial(_haproxy_files, haproxy)
        planes.append(FilePlane(("haproxy", haproxy.group), haproxy.directory, rendered, program))
    if (nginx := settings.nginx) is not None:
        at_nginx = NginxProgramOptions(
            directory=nginx.directory,
            binary=nginx.binary,
            reload=nginx.reload,
            interval_s=nginx.interval_s,
        )
        rendered_nginx = partial(_nginx_files, nginx)
        planes.append(
            FilePlane(
                ("nginx", nginx.group),
                nginx.directory,
                rendered_nginx,
                NginxProgram(at_nginx, LocalProcesses()),
            )
        )
    return planes


def _haproxy_socket(gateway: HaproxyGateway) -> Path:
    return gateway.socket or gateway.directory / "haproxy.sock"


def _haproxy_files(
    gateway: HaproxyGateway, snapshot: Snapshot, left_out: Mapping[str, str]
) -> Artifact:
    options = HaproxyOptions(group=gateway.group, socket=str(_haproxy_socket(gateway)))
    return haproxy_files(snapshot, options, left_out)


def _nginx_files(
    gateway: NginxGateway, snapshot: Snapshot, left_out: Mapping[str, str]
) -> Artifact:
    options = NginxOptions(group=gateway.group, directory=str(gateway.directory))
    return nginx_files(snapshot, options, left_out)


def renderings(settings: Settings) -> dict[str, Rendering]:
    """What each kind of plane would be given, for people; of any group."""
    haproxy, nginx, caddy = settings.haproxy, settings.nginx, settings.caddy

    def of_haproxy(snapshot: Snapshot, group: str) -> Artifact:
        if haproxy is None:
            return haproxy_files(snapshot, HaproxyOptions(group=group))
        socket = str(_haproxy_socket(haproxy))
        return haproxy_files(snapshot, HaproxyOptions(group=group, socket=socket))

    def of_nginx(snapshot: Snapshot, group: str) -> Artifact:
        if nginx is None:
            return nginx_files(snapshot, NginxOptions(group=group))
        return nginx_files(snapshot, NginxOptions(group=group, directory=str(nginx.directory)))

    def of_caddy(snapshot: Snapshot, group: str) -> Artifact:
        if caddy is None:
            return caddy_files(snapshot, CaddyOptions(group=group))
        return caddy_files(snapshot, CaddyOptions(group=group, admin=caddy.admin))

    def of_traefik(snapshot: Snapshot, group: str) -> Artifact:
        return traefik_files(snapshot, TraefikOptions(group=group))

    def of_envoy(snapshot: Snapshot, _group: str) -> Artifact:
        return readable(Renderer().render(snapshot))

    return {
        "caddy": of_caddy,
        "envoy": of_envoy,
        "haproxy": of_haproxy,
        "nginx": of_nginx,
        "traefik": of_traefik,
    }

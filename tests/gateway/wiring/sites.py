"""A site behind each kind of proxy, wired to an agent by the text that `wiring` prints."""

import contextlib
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import yaml

from controlplane.adapters.envoy.preflight import find_envoy
from controlplane.domain.admission.agent_door import WhenAway
from controlplane.domain.admission.envoy_asks import FILTER
from gateway.wiring.caddy import caddy as caddy_text
from gateway.wiring.envoy import cluster, http_filters
from gateway.wiring.haproxy import haproxy as haproxy_text
from gateway.wiring.nginx import nginx as nginx_text
from gateway.wiring.plan import Plan, at
from gateway.wiring.tickets import key_files
from gateway.wiring.traefik import traefik as traefik_text
from tests.servers.proxies import caddy, haproxy, nginx, traefik, until_listens

HTTP = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3"
ROUTER = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"


@contextlib.contextmanager
def envoy_site(folder: Path, port: int, plan: Plan) -> Iterator[None]:
    binary = find_envoy()
    assert binary is not None
    (folder / "envoy.yaml").write_text(yaml.safe_dump(bootstrap(port, plan)))
    log = (folder / "envoy.log").open("wb")
    options = ["--use-dynamic-base-id", "--concurrency", "1", "-l", "warning"]
    process = subprocess.Popen(
        [binary, "-c", str(folder / "envoy.yaml"), *options], stdout=log, stderr=log
    )
    try:
        until_listens(port)
        yield
    finally:
        process.terminate()
        process.wait(10)
        log.close()


def bootstrap(port: int, plan: Plan) -> Mapping[str, object]:
    route = {"match": {"prefix": "/"}, "route": {"cluster": "site", "timeout": "5s"}}
    manager = {
        "@type": f"{HTTP}.HttpConnectionManager",
        "stat_prefix": "site",
        "use_remote_address": True,
        "route_config": {
            "virtual_hosts": [{"name": "a", "domains": ["*"], "routes": [_other(plan), route]}]
        },
        "http_filters": [
            *http_filters(plan),
            {"name": "envoy.filters.http.router", "typed_config": {"@type": ROUTER}},
        ],
    }
    chain = {"filters": [{"name": "http", "typed_config": manager}]}
    listener = {"name": "site", "address": _address("127.0.0.1", port), "filter_chains": [chain]}
    endpoint = {"endpoint": {"address": _address(*plan.service)}}
    site = {
        "name": "site",
        "type": "STATIC",
        "load_assignment": {"cluster_name": "site", "endpoints": [{"lb_endpoints": [endpoint]}]},
    }
    resources = {"listeners": [listener], "clusters": [site, cluster(plan)]}
    return {"static_resources": resources}


@contextlib.contextmanager
def nginx_site(folder: Path, port: int, plan: Plan) -> Iterator[None]:
    outer, _, rest = nginx_text(plan).partition("# In the server {}")
    server, _, passes = rest.partition("# In each location")
    passes = passes.partition("\n")[2]
    service = f"{plan.service[0]}:{plan.service[1]}"
    (folder / "nginx.conf").write_text(f"""
        pid {folder}/nginx.pid; worker_processes 1; error_log {folder}/error.log;
        events {{}}
        http {{
            access_log off;
            client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
            fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
            {outer}
            server {{
                listen 127.0.0.1:{port};
                # {server}
                location / {{
                    {passes}
                    proxy_pass http://{service};
                }}
                location /other {{
                    auth_request /_signalbox/ask_other;
                    {passes}
                    proxy_pass http://{service};
                }}
            }}
        }}""")
    with nginx(folder, port):
        yield


@contextlib.contextmanager
def traefik_site(folder: Path, port: int, plan: Plan) -> Iterator[None]:
    dynamic = yaml.safe_load(traefik_text(plan))
    dynamic["http"]["routers"]["site"] = {
        "rule": "PathPrefix(`/`)",
        "entryPoints": ["web"],
        "service": "site",
        "middlewares": ["signalbox"],
    }
    server = {"url": f"http://{plan.service[0]}:{plan.service[1]}"}
    dynamic["http"]["services"]["site"] = {"loadBalancer": {"servers": [server]}}
    (folder / "dynamic.yaml").write_text(yaml.safe_dump(dynamic))
    static = {
        "entryPoints": {
            "web": {"address": f"127.0.0.1:{port}"},
            "signalbox": {
                "address": at(plan.spare),
                "forwardedHeaders": {"trustedIPs": ["127.0.0.1/32"]},
            },
        },
        "providers": {"file": {"filename": str(folder / "dynamic.yaml")}},
        "global": {"checkNewVersion": False, "sendAnonymousUsage": False},
    }
    (folder / "traefik.yaml").write_text(yaml.safe_dump(static))
    with traefik(folder, port):
        yield


@contextlib.contextmanager
def caddy_site(folder: Path, port: int, plan: Plan) -> Iterator[None]:
    service = f"{plan.service[0]}:{plan.service[1]}"
    (folder / "Caddyfile").write_text(
        f"{{\n\tadmin off\n\tauto_https off\n}}\n{caddy_text(plan)}"
        f"http://127.0.0.1:{port}, http://:{port} {{\n\tbind 127.0.0.1\n\timport signalbox\n"
        f"\treverse_proxy {service}\n}}\n"
    )
    options = ("--config", str(folder / "Caddyfile"), "--adapter", "caddyfile")
    with caddy(folder, port, *options):
        until_listens(plan.spare[1])
        yield


@contextlib.contextmanager
def haproxy_site(folder: Path, port: int, plan: Plan) -> Iterator[None]:
    """`plan.agent` is the agent's own proxy; it is there when the site is."""
    lines, _, backend = haproxy_text(plan).partition("# A backend beside the others:\n")
    lines = lines.replace("# http-request return", "http-request return").replace("/pay", "/other")
    for name, text in key_files(plan) if plan.queues else ():
        Path(name).write_text(text)
    (folder / "haproxy.cfg").write_text(f"""
defaults
    mode http
    timeout connect 1s
    timeout client 10s
    timeout server 10s
frontend site
    bind 127.0.0.1:{port}
{lines}    default_backend site
backend site
    server site {at(plan.service)}
{backend}""")
    with haproxy(folder, port):
        yield


Site = Callable[[Path, int, Plan], contextlib.AbstractContextManager[None]]
SITES: Mapping[str, Site] = {
    "envoy": envoy_site,
    "nginx": nginx_site,
    "traefik": traefik_site,
    "caddy": caddy_site,
}


def _other(plan: Plan) -> Mapping[str, object]:
    """A route on which the contrary holds while the agent is away."""
    other = WhenAway.REFUSE if plan.admits else WhenAway.ADMIT
    config = "type.googleapis.com/envoy.config.route.v3.FilterConfig"
    asked = f"type.googleapis.com/{FILTER.replace('envoy.', 'envoy.extensions.', 1)}"
    settings = {"@type": f"{asked}.v3.ExtAuthzPerRoute", "check_settings": {}}
    return {
        "match": {"prefix": "/other"},
        "route": {"cluster": "site", "timeout": "5s"},
        "typed_per_filter_config": {
            FILTER: {"@type": config, "disabled": True},
            f"{FILTER}.{other}": {"@type": config, "config": settings},
        },
    }


def _address(host: str, port: int) -> Mapping[str, object]:
    return {"socket_address": {"address": host, "port_value": port}}

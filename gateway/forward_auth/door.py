"""The HTTP server that proxies ask.

Made by `admission_agent`. Each call is answered within the budget of `judging`, whatever shared
state does; a call that is none of the dialects is told which there are.
"""

import asyncio
import ipaddress
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from aiohttp import web
from multidict import CIMultiDict
from prometheus_client import CollectorRegistry, Counter, Histogram

from controlplane.domain.admission.agent_door import ENVOY_PREFIX, HEALTH_PATH
from controlplane.domain.routing.matching.normalization import Refusal
from controlplane.domain.routing.matching.request import Request
from gateway.admission.enforcing import Answer
from gateway.admission.judging import Judge
from gateway.forward_auth.parked import ParkedAnswers
from gateway.forward_auth.questions import (
    FORWARD_PATH,
    NGINX_PATH,
    Call,
    Question,
    question,
)
from gateway.forward_auth.replies import refused, reply, status_only

log = structlog.get_logger()

ANSWERS_PATH = "/answers/"
# Answers take a millisecond; those that wait for shared state end within the budget.
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.05, 0.1)
BACKLOG = 1_024
KEEP_S = 300.0
# What a proxy lets in is for policies to judge: no client gets 400 here for a large cookie.
MOST_FIELD_BYTES = 131_072
MOST_HEADERS = 1_000
# What is no HTTP came from a client through a proxy; it is not worth a traceback each time.
NO_LOG = logging.getLogger("gateway.forward_auth.silent")
NO_LOG.disabled = True
LOOPBACK = ("127.0.0.0/8", "::1/128")
NO_ANSWER = Answer(status=503, headers=(("retry-after", "1"), ("cache-control", "no-store")))
HERE = Answer(status=200)
UNKNOWN = Answer(
    status=404,
    headers=(("content-type", "text/plain"),),
    body=(
        f"Ask {ENVOY_PREFIX}/PATH (Envoy), {NGINX_PATH} (nginx, with X-Original-Method and "
        f"X-Original-URI) or {FORWARD_PATH} (Traefik and Caddy, with X-Forwarded-Method and "
        "X-Forwarded-Uri).\n"
    ).encode(),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorOptions:
    """Where it listens, and whom it believes.

    Attributes:
        trusted: networks (CIDR) of proxies, whose `X-Forwarded-For` is believed.
        stop_s: how long calls that are under way may take to end.
    """

    host: str
    port: int
    trusted: Sequence[str] = LOOPBACK
    stop_s: float = 1.0


class ForwardAuthDoor:
    """One port."""

    def __init__(self, options: DoorOptions, judge: Judge, registry: CollectorRegistry) -> None:
        self._options = options
        self._judge = judge
        self._trusted = tuple(ipaddress.ip_network(each) for each in options.trusted)
        self._parked = ParkedAnswers(time.monotonic)
        self._answers = Counter(
            "signalbox_agent_answers_total",
            "Answers to proxies.",
            ("dialect", "status"),
            registry=registry,
        )
        self._took = Histogram(
            "signalbox_agent_answer_duration_seconds",
            "Time until a proxy was answered.",
            ("dialect",),
            buckets=BUCKETS,
            registry=registry,
        )
        self._server: asyncio.Server | None = None
        self._http: web.Server | None = None

    async def start(self) -> int:
        """Listen and return the port.

        Raises:
            OSError: the address cannot be had.
        """
        self._http = web.Server(
            self._handle,
            access_log=None,
            logger=NO_LOG,
            keepalive_timeout=KEEP_S,
            max_line_size=MOST_FIELD_BYTES,
            max_field_size=MOST_FIELD_BYTES,
            max_headers=MOST_HEADERS,
        )
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            self._http, self._options.host, self._options.port, backlog=BACKLOG
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Take no new connections, let calls under way end, close the rest."""
        if self._server is not None and self._http is not None:
            self._server.close()
            self._http.pre_shutdown()
            await self._http.shutdown(self._options.stop_s)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        began_s = time.monotonic()
        target = request.raw_path
        if target.startswith(ANSWERS_PATH):
            name = target[len(ANSWERS_PATH) :].partition("?")[0]
            return _response(self._parked.fetch(name) or NO_ANSWER)
        if target == HEALTH_PATH:
            return _response(HERE)
        asked = question(_call(request, target), self._trusted)
        if asked is None:
            return _response(UNKNOWN)
        try:
            answer = await self._answer(asked)
        except Exception:
            log.exception("forward_auth.fault", dialect=asked.dialect.value)
            answer = status_only(NO_ANSWER, self._parked) if asked.takes_status_only else NO_ANSWER
        self._answers.labels(asked.dialect.value, answer.status).inc()
        self._took.labels(asked.dialect.value).observe(time.monotonic() - began_s)
        return _response(answer)

    async def _answer(self, asked: Question) -> Answer:
        if isinstance(asked.request, Refusal):
            unreadable = Request(path="/")
            return refused(asked.dialect, asked.request.status, unreadable, self._parked)
        ruling = await self._judge.rule(asked.request)
        return reply(asked.dialect, ruling, asked.request, self._parked, self._judge.told)


def _call(request: web.BaseRequest, target: str) -> Call:
    peer = request.transport.get_extra_info("peername") if request.transport else None
    return Call(
        method=request.method,
        target=target,
        headers=tuple(request.headers.items()),
        peer=str(peer[0]) if isinstance(peer, tuple) else "",
    )


def _response(answer: Answer) -> web.Response:
    return web.Response(
        status=answer.status, headers=CIMultiDict(answer.headers), body=answer.body or None
    )

"""Traefik: the middleware forwardAuth, as a file of the file provider.

forwardAuth has no deadline. So it asks an entry point of Traefik's own, whose only router passes
the question on to the agent, with a deadline and with checks. Nothing of Traefik answers in place
of an agent that is away.
"""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from controlplane.domain.admission.agent_door import HEALTH_PATH, TIMEOUT_MS, TO_SERVICE
from gateway.forward_auth.questions import FORWARD_PATH
from gateway.wiring.plan import Plan, at

NAME = "signalbox"
AGENT = "signalbox-agent"
NOTES = """\
# Into the file that Traefik starts with, an entry point for the question:
#   entryPoints:
#     signalbox:
#       address: "{spare}"
#       forwardedHeaders: {{trustedIPs: ["{host}/32"]}}
# What follows is a file of the file provider; routers name it: middlewares: [signalbox@file].
# While the agent is away every request is refused within {timeout} ms: Traefik has no way on
# without it, whatever --when-away says.
# Of the cookies that policies set for those who go on, clients get those that --cookie names: a
# session queue NAME needs --cookie signalbox_ticket_NAME, else each request is somebody new.
"""


def traefik(plan: Plan) -> str:
    """What the entry point is for, and the file."""
    notes = NOTES.format(spare=at(plan.spare), host=plan.spare[0], timeout=TIMEOUT_MS)
    return notes + yaml.safe_dump({"http": dynamic(plan)}, sort_keys=False, width=100)


def dynamic(plan: Plan) -> Mapping[str, Any]:
    """The middleware, and the way from the entry point to the agent."""
    further = "".join(f"|^{re.escape(name)}$" for name in plan.headers)
    asks: dict[str, Any] = {
        "address": f"http://{at(plan.spare)}{FORWARD_PATH}",
        "trustForwardHeader": False,
        # Taken from us, and from a client never.
        "authResponseHeadersRegex": f"(?i)^{TO_SERVICE}{further}",
    }
    if plan.cookies:
        asks["addAuthCookiesToResponse"] = list(plan.cookies)
    check = {"path": HEALTH_PATH, "interval": "250ms", "timeout": "100ms"}
    balancer = {
        "servers": [{"url": f"http://{at(plan.agent)}"}],
        "healthCheck": check,
        "serversTransport": AGENT,
    }
    deadline = f"{TIMEOUT_MS}ms"
    timeouts = {"dialTimeout": deadline, "responseHeaderTimeout": deadline}
    router = {"rule": f"Path(`{FORWARD_PATH}`)", "entryPoints": [NAME], "service": AGENT}
    return {
        "middlewares": {NAME: {"forwardAuth": asks}},
        "routers": {AGENT: router},
        "services": {AGENT: {"loadBalancer": balancer}},
        "serversTransports": {AGENT: {"forwardingTimeouts": timeouts}},
    }

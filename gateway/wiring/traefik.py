"""Traefik: the middleware forwardAuth, as a file of the file provider."""

import re

import yaml

from controlplane.domain.admission.agent_door import TO_SERVICE
from gateway.forward_auth.questions import FORWARD_PATH
from gateway.wiring.plan import Plan, at

NOTES = """\
# A file of the file provider; routers name it: middlewares: [signalbox@file].
# Traefik has neither a deadline for this call nor a way on without the agent: while the agent is
# away every request is refused, whatever --when-away says. The agent itself answers in 20 ms with
# a Redis that hangs.
"""


def traefik(plan: Plan) -> str:
    """The middleware."""
    further = "".join(f"|^{re.escape(name)}$" for name in plan.headers)
    middleware = {
        "address": f"http://{at(plan.agent)}{FORWARD_PATH}",
        # Taken from us, and from a client never.
        "authResponseHeadersRegex": f"(?i)^{TO_SERVICE}{further}",
    }
    parts = {"http": {"middlewares": {"signalbox": {"forwardAuth": middleware}}}}
    return NOTES + yaml.safe_dump(parts, sort_keys=False, width=100)

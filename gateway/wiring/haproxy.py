"""HAProxy: it asks nobody, so requests go through the agent's own proxy while it is well."""

from gateway.wiring.plan import Plan, at

TEXT = """\
# HAProxy has no forward-auth of its own: requests go through the agent's proxy (--proxy of
# `signalbox gateway run`), which asks the policies and passes on to the service.
# In the frontend, before its default_backend:
    http-request del-header x-admission- -m beg
{refuse}    use_backend signalbox_agent if {{ nbsrv(signalbox_agent) gt 0 }}

# A backend beside the others:
backend signalbox_agent
    option forwardfor
    timeout connect 20ms
    server agent {agent} check inter 250ms fall 2 rise 1
"""
REFUSE = "    http-request return status 503 hdr retry-after 1 if { nbsrv(signalbox_agent) eq 0 }\n"


def haproxy(plan: Plan) -> str:
    """Lines for a frontend, and a backend."""
    return TEXT.format(agent=at(plan.agent), refuse="" if plan.admits else REFUSE)

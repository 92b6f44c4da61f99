"""HAProxy: it asks nobody, so requests go through the agent's own proxy while it is well.

An agent that hangs takes connections still, so its forward-auth is asked whether it is there.

Who holds a ticket of a session queue goes straight to the service.
"""

from controlplane.domain.admission.agent_door import HEALTH_PATH
from gateway.wiring.plan import Plan, at
from gateway.wiring.tickets import haproxy_lines, key_files

TEXT = """\
# HAProxy has no forward-auth of its own: requests go through the agent's proxy (--proxy of
# `signalbox gateway run`), which asks the policies and passes on to the service.
{files}# In the frontend, before its default_backend:
    http-request del-header x-admission- -m beg
{tickets}{away}    use_backend signalbox_agent if {{ nbsrv(signalbox_agent) gt 0 }}{unless}

# A backend beside the others:
backend signalbox_agent
    option forwardfor
    option httpchk GET {health}
    timeout connect 20ms
    timeout check 100ms
    default-server inter 250ms fall 2 rise 1 on-marked-down shutdown-sessions
    server agent {agent} check addr {host} port {port}
"""
INSIDE = " !{ var(txn.inside) -m found }"
RETURN = "http-request return status 503 hdr retry-after 1 if { nbsrv(signalbox_agent) eq 0 }"
# A policy's `when_away` may differ from what holds for all paths.
ADMITS = """\
    # Paths that are refused while the agent is away (`when_away: refuse` of a policy):
    # {line} {{ path_beg /pay }}{unless}
"""
REFUSES = """\
    {line}{unless}
    # For paths that go on all the same (`when_away: admit` of a policy) that line ends in
    # !{{ path_beg /static }}
"""


def haproxy(plan: Plan) -> str:
    """Lines for a frontend, a backend, and files of keys as comments."""
    unless = INSIDE if plan.queues else ""
    return TEXT.format(
        agent=at(plan.agent),
        health=HEALTH_PATH,
        host=plan.checked[0],
        port=plan.checked[1],
        files="".join(_file(name, text) for name, text in key_files(plan)) if plan.queues else "",
        tickets="".join(f"    {line}\n" for line in haproxy_lines(plan)),
        away=(ADMITS if plan.admits else REFUSES).format(line=RETURN, unless=unless),
        unless=unless,
    )


def _file(name: str, text: str) -> str:
    lines = "".join(f"#   {line}\n" for line in text.splitlines())
    return f"# Put this into {name}:\n{lines}"

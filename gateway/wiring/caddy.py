"""Caddy: forward_auth written out, because it needs deadlines and a way on without the agent.

While the agent is away a server of Caddy's own speaks for it. One failure is enough for that, for a
quarter of a second, because Caddy would try the same one again otherwise; checks keep a hung agent
out for as long as it hangs. Where both were late, as on a machine that starves Caddy, a request
waits for the first to be asked again.
"""

from controlplane.domain.admission.agent_door import HEALTH_PATH, TIMEOUT_MS
from gateway.forward_auth.questions import FORWARD_PATH
from gateway.wiring.plan import Plan, at

TEXT = """\
# On top of the Caddyfile; a site says: import signalbox
(signalbox) {{
	request_header -X-Admission-*
	reverse_proxy {agent} {spare} {{
		method GET
		rewrite {ask}
		header_up X-Forwarded-Method {{http.request.method}}
		header_up X-Forwarded-Uri {{http.request.uri}}
		lb_policy first
		lb_try_duration 400ms
		lb_try_interval 1ms
		lb_retry_match {{
			path *
		}}
		fail_duration 250ms
		max_fails 1
		health_uri {health}
		health_interval 250ms
		health_timeout 100ms
		transport http {{
			dial_timeout {timeout}ms
			response_header_timeout {timeout}ms
		}}
		@goes_on status 2xx
		handle_response @goes_on {{
			request_header X-Admission-Service {{http.reverse_proxy.header.X-Admission-Service}}
{passes}			copy_response_headers {{
				include Set-Cookie
			}}
		}}
	}}
}}
http://:{port} {{
	bind {host}
	respond {health} 200
	respond {away}
}}
"""


def caddy(plan: Plan) -> str:
    """A snippet of a Caddyfile."""
    passes = [
        f"\t\t\trequest_header {name} {{http.reverse_proxy.header.{name}}}\n"
        for name in plan.headers
    ]
    return TEXT.format(
        agent=at(plan.agent),
        spare=at(plan.spare),
        host=plan.spare[0],
        port=plan.spare[1],
        ask=FORWARD_PATH,
        health=HEALTH_PATH,
        timeout=TIMEOUT_MS,
        passes="".join(passes),
        away=204 if plan.admits else 503,
    )

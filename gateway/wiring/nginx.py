"""nginx: auth_request, and a second step for what its clients are answered.

auth_request knows 2xx, 401 and 403 only. So a request that does not go on is 403 with the name of
an answer, and error_page fetches that answer from the agent for the client: its own status, page
and headers. While the agent is away a server of nginx's own speaks for it, chosen by nginx after
three failures without another 20 ms.
"""

from controlplane.domain.admission.agent_door import TIMEOUT_MS
from gateway.forward_auth.door import ANSWERS_PATH
from gateway.forward_auth.questions import NGINX_PATH
from gateway.wiring.plan import Plan, at

TEXT = """\
# In http {{}}:
upstream signalbox_agent {{
    server {agent} max_fails=3 fail_timeout=1s;
    server {spare} backup;
    keepalive 64;
}}
server {{
    listen {spare};
    access_log off;
    location / {{
        if ($args = other) {{ return {other}; }}
        return {away};
    }}
}}

# In the server {{}} of the site; every location is guarded but those that say auth_request off.
# While the agent is away requests are {word} (--when-away); where the contrary holds (`when_away`
# of a policy), a location says auth_request /_signalbox/ask_other;
auth_request /_signalbox/ask;
auth_request_set $signalbox_answer $upstream_http_x_admission_answer;
auth_request_set $signalbox_service $upstream_http_x_admission_service;
{sets}auth_request_set $signalbox_cookie $upstream_http_set_cookie;
# A location with an add_header of its own does not inherit this line: write it there once more.
add_header Set-Cookie $signalbox_cookie always;
error_page 403 = /_signalbox/answer;

{asks}location = /_signalbox/answer {{
    internal;
    auth_request off;
    if ($signalbox_answer = "") {{ return {no_answer}; }}
    proxy_pass http://signalbox_agent{answers}$signalbox_answer;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_pass_request_body off;
    proxy_set_header Content-Length "";
    proxy_read_timeout 200ms;
}}

# In each location that passes requests on: these come from policies and never from clients.
proxy_set_header X-Admission-Service $signalbox_service;
{passes}"""
ASKS = """\
location = /_signalbox/{name} {{
    internal;
    auth_request off;
    proxy_pass http://signalbox_agent{ask};
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_pass_request_body off;
    proxy_set_header Content-Length "";
    proxy_set_header Host $http_host;
    proxy_set_header X-Original-Method $request_method;
    proxy_set_header X-Original-URI $request_uri;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_connect_timeout {timeout}ms;
    proxy_send_timeout {timeout}ms;
    proxy_read_timeout {timeout}ms;
    proxy_next_upstream error timeout;
    proxy_next_upstream_tries 2;
}}
"""
LETS_ON, REFUSES = 204, 403


def nginx(plan: Plan) -> str:
    """What goes into http, into the server and into its locations."""
    names = [(name, name.lower().replace("-", "_")) for name in plan.headers]
    sets = [f"auth_request_set $signalbox_{plain} $upstream_http_{plain};" for _, plain in names]
    passes = [f"proxy_set_header {name} $signalbox_{plain};" for name, plain in names]
    return TEXT.format(
        agent=at(plan.agent),
        spare=at(plan.spare),
        away=LETS_ON if plan.admits else REFUSES,
        other=REFUSES if plan.admits else LETS_ON,
        word="let on" if plan.admits else "refused",
        no_answer=503,
        asks="".join(
            ASKS.format(name=name, ask=path, timeout=TIMEOUT_MS)
            for name, path in (("ask", NGINX_PATH), ("ask_other", f"{NGINX_PATH}?other"))
        ),
        answers=ANSWERS_PATH,
        sets="".join(f"{line}\n" for line in sets),
        passes="".join(f"{line}\n" for line in passes),
    )

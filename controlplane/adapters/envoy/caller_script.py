"""The script that decides about callers in an Envoy: `callers.lua` with its data in front.

Called by `callers`. The data are long texts of rows, not tables: a script may have 65,536
constants, and a site more credentials than that.
"""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from controlplane.domain.routing.callers.policies import CallerMethod, CallerPolicy, Consumer, Grant

# What is sent as WWW-Authenticate (RFC 9110).
CHALLENGES = {
    CallerMethod.API_KEY: "ApiKey",
    CallerMethod.JWT: "Bearer",
    CallerMethod.CLIENT_CERTIFICATE: "ClientCertificate",
    CallerMethod.SIGNATURE: "Signature",
}
WORDS = {
    401: "this route wants to know who asks\n",
    403: "this route is not for this caller\n",
    503: "callers cannot be checked now\n",
}
# In place of the script while it has not come, or is refused.
STAND_IN = f"""function envoy_on_request(handle)
  if handle:metadata():get("authentication") ~= nil then
    handle:respond({{[":status"] = "503", ["content-type"] = "text/plain"}}, {WORDS[503]!r})
  end
end
"""

Lua = str | dict[str, "Lua"]


def script(policies: Iterable[CallerPolicy], consumers: Iterable[Consumer], zone: str) -> str:
    """The script for gateways of a zone, with the policies that it is to check."""
    known = tuple(consumers)
    table: dict[str, Lua] = {policy.name: _policy(policy, known) for policy in policies}
    words = ", ".join(f"[{status}] = {_lua(text)}" for status, text in WORDS.items())
    return (
        f"local WORDS = {{{words}}}\n"
        f"local POLICIES = {_lua(table)}\n"
        f"local GRANTS = {_lua(_grants(known, zone))}\n"
        f"{_body()}"
    )


@cache
def _body() -> str:
    return files(__package__).joinpath("callers.lua").read_text(encoding="utf-8")


def _policy(policy: CallerPolicy, consumers: Iterable[Consumer]) -> dict[str, Lua]:
    found: dict[str, Lua] = {
        "name": policy.name,
        "method": policy.method.value,
        "challenge": CHALLENGES[policy.method],
        "credentials": _credentials(policy, consumers),
    }
    if policy.otherwise:
        found["otherwise"] = policy.otherwise
    if policy.api_key is not None:
        found |= {"part": policy.api_key.part.value, "carrier": policy.api_key.name}
    if policy.jwt is not None:
        claims: dict[str, Lua] = dict(policy.jwt.claims)
        found |= {"claims": claims, "consumer_claim": policy.jwt.consumer_claim}
    return found


def _credentials(policy: CallerPolicy, consumers: Iterable[Consumer]) -> str:
    return "\n".join(
        f"{one.type}\t{one.value}\t{consumer.name}"
        for consumer in consumers
        for one in consumer.credentials
        if one.policy == policy.name
    )


def _grants(consumers: Iterable[Consumer], zone: str) -> str:
    return "\n".join(
        f"{consumer.name}\t{_grant(grant)}"
        for consumer in consumers
        for grant in consumer.grants
        if not grant.zones or zone in grant.zones
    )


def _grant(grant: Grant) -> str:
    labels = "\f".join(f"{name}={value}" for name, value in grant.labels)
    return f"{' '.join(grant.routes)}\t{labels}"


def _lua(value: Lua) -> str:
    """A value as Lua's text; what could end a text or a line is written by its number."""
    if isinstance(value, str):
        return '"' + "".join(_character(byte) for byte in value.encode()) + '"'
    entries = (f"[{_lua(key)}] = {_lua(item)}" for key, item in sorted(value.items()))
    return f"{{{', '.join(entries)}}}"


def _character(byte: int) -> str:
    plain = 0x20 <= byte < 0x7F and byte not in b'"\\'
    return chr(byte) if plain else f"\\{byte:03d}"

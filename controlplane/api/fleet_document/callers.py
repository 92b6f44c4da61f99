"""The part of a fleet document about caller policies: how a caller shows who it is.

What would be a secret is refused here, because everybody who may read the fleet reads it.
"""

import re
from collections.abc import Collection

from controlplane.api.fleet_document.addresses import path
from controlplane.api.fleet_document.conditions import pairs, several
from controlplane.api.fleet_document.reading import (
    Place,
    choice,
    fields,
    integer,
    matching,
    name,
    reference,
    text_of,
)
from controlplane.domain.errors import Invalid
from controlplane.domain.routing.callers.jwks import public_keys
from controlplane.domain.routing.callers.policies import (
    REMOVED_HEADERS,
    ApiKey,
    CallerMethod,
    CallerPolicy,
    ClientCertificate,
    Jwt,
    RequestSignature,
)
from controlplane.domain.routing.route import Part

POLICY_KEYS = ("name", *CallerMethod, "otherwise")
JWT_KEYS = (
    "issuer",
    "audiences",
    "jwks",
    "jwks_service",
    "jwks_path",
    "jwks_period_s",
    "header",
    "cookie",
    "consumer_claim",
    "claims",
    "clock_skew_s",
)
MOST_JWKS = 65_536

USUAL_KEY = ApiKey()
USUAL_SIGNATURE = RequestSignature()
USUAL_JWT = Jwt(issuer="")
TOKEN_CHARACTERS = "[!#$%&'*+.^_`|~0-9A-Za-z-]"
ARGUMENT = matching(
    re.compile(rf"{TOKEN_CHARACTERS}{{1,64}}", re.ASCII),
    "1..64 of A-Z a-z 0-9 - . _ and what else a header's name may have",
)
FILE = matching(
    re.compile(r"(/[A-Za-z0-9_+][A-Za-z0-9._+-]{0,127}){1,16}", re.ASCII),
    "the absolute path of a file on the gateways, of A-Z a-z 0-9 . _ + - and /",
)
TEXT = matching(
    re.compile(r"[!-~]([ -~]{0,253}[!-~])?", re.ASCII),
    "1..255 printable ASCII characters without spaces around them",
)
CLAIM = matching(re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII), "a claim: 1..64 of A-Z a-z 0-9 _ -")

_audiences = several(TEXT, "audiences")


def policy(place: Place, consumers: Collection[str], services: Collection[str]) -> CallerPolicy:
    """Read one caller policy; `consumers` and `services` are those declared."""
    entries = fields(place, POLICY_KEYS)
    faults = place.findings.count
    read = CallerPolicy(
        name=entries.required("name", name, ""),
        api_key=entries.optional(CallerMethod.API_KEY, _api_key, None),
        signature=entries.optional(CallerMethod.SIGNATURE, _signature, None),
        jwt=entries.optional(CallerMethod.JWT, lambda at: _jwt(at, services), None),
        client_certificate=entries.optional(CallerMethod.CLIENT_CERTIFICATE, _certificate, None),
        otherwise=entries.optional("otherwise", reference("consumer", consumers), ""),
    )
    given = [method for method in CallerMethod if getattr(read, method) is not None]
    if len(given) != 1 and place.findings.count == faults:
        place.report(f"exactly one of {', '.join(CallerMethod)}", f"with {len(given)} of them")
    if read.otherwise and (read.api_key or read.signature):
        entries.places["otherwise"].report("otherwise beside jwt or client_certificate only")
    return read


def _api_key(place: Place) -> ApiKey:
    entries = fields(place, ("part", "name"))
    part = entries.optional("part", choice(Part), USUAL_KEY.part)
    default = USUAL_KEY.name if part is Part.HEADER else "api_key"
    rule = _header if part is Part.HEADER else ARGUMENT
    return ApiKey(part=part, name=entries.optional("name", rule, default))


def _header(place: Place) -> str:
    value = ARGUMENT(place)
    if value != value.lower():
        place.report("a header's name in lower case")
    elif value in REMOVED_HEADERS:
        place.report("another header: gateways remove this one from requests")
    return value


def _signature(place: Place) -> RequestSignature:
    entries = fields(place, ("window_s", "remembered"))
    return RequestSignature(
        window_s=entries.optional("window_s", integer(1, 3_600), USUAL_SIGNATURE.window_s),
        remembered=entries.optional(
            "remembered", integer(1, 10_000_000), USUAL_SIGNATURE.remembered
        ),
    )


def _certificate(place: Place) -> ClientCertificate:
    fields(place, ())
    return ClientCertificate()


def _jwt(place: Place, services: Collection[str]) -> Jwt:
    entries = fields(place, JWT_KEYS)
    read = Jwt(
        issuer=entries.required("issuer", TEXT, ""),
        audiences=entries.optional("audiences", _audiences, ()),
        jwks=entries.optional("jwks", _jwks, ""),
        jwks_service=entries.optional("jwks_service", reference("service", services), ""),
        jwks_path=entries.optional("jwks_path", path, USUAL_JWT.jwks_path),
        jwks_period_s=entries.optional(
            "jwks_period_s", integer(1, 86_400), USUAL_JWT.jwks_period_s
        ),
        header=entries.optional("header", _header, USUAL_JWT.header),
        cookie=entries.optional("cookie", ARGUMENT, ""),
        consumer_claim=entries.optional("consumer_claim", CLAIM, USUAL_JWT.consumer_claim),
        claims=entries.optional("claims", pairs(CLAIM, TEXT), ()),
        clock_skew_s=entries.optional("clock_skew_s", integer(0, 300), USUAL_JWT.clock_skew_s),
    )
    if ("jwks" in entries.places) == ("jwks_service" in entries.places):
        place.report("exactly one of jwks and jwks_service")
    if read.cookie and "header" in entries.places:
        entries.places["header"].report("header or cookie, not both")
    return read


def _jwks(place: Place) -> str:
    value = text_of(place) or ""
    if len(value) > MOST_JWKS:
        place.report(f"a key set of up to {MOST_JWKS} characters", f"one of {len(value)}")
        return ""
    try:
        public_keys(value)
    except Invalid as error:
        # A private key must not be repeated in an answer or a log.
        place.report(f"a JSON key set (RFC 7517) of public keys: {error.message}", "another text")
        return ""
    return value

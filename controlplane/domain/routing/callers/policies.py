"""Callers: how a route knows who asks, and what the one who asks may do.

A policy says how a caller shows itself, a consumer is one that is known by its credentials, and a
route names the policies of which one must accept the caller. No secret is in here, because every
gateway and every viewer reads this: a key is its hash, a signature's secret is the name of a file
on the gateway. Compiled by each data plane; one that cannot check a policy refuses its routes.
"""

from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.routing.route import Part

# What a service learns about its caller. Gateways remove them from every request that comes in.
CONSUMER_HEADER = "x-consumer"
POLICY_HEADER = "x-consumer-policy"
IDENTITY_HEADERS = (CONSUMER_HEADER, POLICY_HEADER)
# Many services take `x_consumer` for `x-consumer`, so no spelling may come in.
REMOVED_HEADERS = (
    *IDENTITY_HEADERS,
    "x_consumer",
    "x_consumer_policy",
    "x_consumer-policy",
    "x-consumer_policy",
)


class CallerMethod(StrEnum):
    """How a caller shows who it is; also the name of the policy's field about it."""

    API_KEY = "api_key"
    SIGNATURE = "signature"
    JWT = "jwt"
    CLIENT_CERTIFICATE = "client_certificate"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A secret text that comes with each request; a header's name is in lower case."""

    part: Part = Part.HEADER
    name: str = "x-api-key"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSignature:
    """HMAC-SHA256 over the request, as `signatures` lays it out.

    Attributes:
        window_s: how far the caller's clock may differ, either way; a signature is taken once
            within it.
        remembered: signatures that one gateway keeps for that; when they are used up within the
            window, further ones are refused.
    """

    window_s: int = 300
    remembered: int = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Jwt:
    """A signed token (RFC 7519) with an expiry. One of `jwks` and `jwks_service` is set.

    Attributes:
        audiences: of which the token must name one; () takes any.
        jwks: public keys as a JSON text (RFC 7517).
        jwks_service: gateways fetch the keys from this declared service, at `jwks_path`, and
            again every `jwks_period_s`.
        header: where the token stands after `Bearer `, in lower case; cookie: or in this one.
        consumer_claim: its value is the credential of a consumer.
        claims: further claims (name, value) that it must have; a list must contain the value.
        clock_skew_s: how long an expired token is still taken.
    """

    issuer: str
    audiences: tuple[str, ...] = ()
    jwks: str = ""
    jwks_service: str = ""
    jwks_path: str = "/.well-known/jwks.json"
    jwks_period_s: int = 300
    header: str = "authorization"
    cookie: str = ""
    consumer_claim: str = "sub"
    claims: tuple[tuple[str, str], ...] = ()
    clock_skew_s: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCertificate:
    """A certificate from an authority that the TLS host trusts, see `tls.Certificate`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerPolicy:
    """One way to know a caller; exactly one of the four methods is set.

    Attributes:
        otherwise: consumer that stands for every accepted caller without a credential of its own,
            such as the users of an identity provider; "" refuses them. With `jwt` and
            `client_certificate` only.
    """

    name: str
    api_key: ApiKey | None = None
    signature: RequestSignature | None = None
    jwt: Jwt | None = None
    client_certificate: ClientCertificate | None = None
    otherwise: str = ""

    @property
    def method(self) -> CallerMethod:
        """The method that is set."""
        return next(method for method in CallerMethod if getattr(self, method) is not None)


class CredentialType(StrEnum):
    """What of a caller a credential names."""

    KEY_SHA256 = "key_sha256"
    SECRET = "secret"
    CLAIM = "claim"
    FINGERPRINT = "fingerprint"
    SUBJECT = "subject"
    SAN = "san"


CREDENTIALS: dict[CallerMethod, tuple[CredentialType, ...]] = {
    CallerMethod.API_KEY: (CredentialType.KEY_SHA256,),
    CallerMethod.SIGNATURE: (CredentialType.SECRET,),
    CallerMethod.JWT: (CredentialType.CLAIM,),
    CallerMethod.CLIENT_CERTIFICATE: (
        CredentialType.FINGERPRINT,
        CredentialType.SUBJECT,
        CredentialType.SAN,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What makes a caller of a policy this consumer.

    Attributes:
        value: SHA-256 of the key, 64 hexadecimal digits in lower case; name of the secret, which
            is also the key id that the caller sends and the file on the gateway; value of the
            consumer claim; SHA-256 of the certificate like that of a key; its subject (RFC 2253);
            or one of its alternative names (DNS or URI).
    """

    policy: str
    type: CredentialType
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Routes that a consumer may call: those named, and those with all of the labels.

    Attributes:
        routes, labels: both () is every route.
        zones: of the gateways where it may; () is any.
    """

    routes: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    zones: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """Requests that a gateway takes from a consumer in a period; further ones get 429."""

    requests: int
    period_s: int = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """One known caller: a partner, a team, an internal system. Without grants it may do nothing."""

    name: str
    credentials: tuple[Credential, ...] = ()
    grants: tuple[Grant, ...] = ()
    quota: Quota | None = None

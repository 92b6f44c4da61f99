"""Signed tokens on HAProxy: one file for each key, and lines that check and read a token.

Called by `callers`. HAProxy verifies with the algorithm of the key, never with what the token
says, and knows neither time nor audience: both are compared here.
"""

from collections.abc import Iterable, Iterator

from controlplane.adapters.haproxy.quoting import word
from controlplane.domain.routing.callers.jwks import PublicKey, pem, public_keys
from controlplane.domain.routing.callers.policies import CallerPolicy, Jwt

# Elements of a list of audiences, or of another claim, that are looked at.
MOST_ELEMENTS = 4
EDWARDS = "EdDSA"


def key_files(policy: CallerPolicy) -> Iterator[tuple[str, str]]:
    """The public keys of a policy as PEM files."""
    if policy.jwt is not None:
        for number, key in enumerate(_usable(policy.jwt)):
            yield _key_file(policy, number), pem(key)


def unusable_keys(jwt: Jwt) -> tuple[PublicKey, ...]:
    """The keys whose signatures this HAProxy does not verify."""
    return tuple(key for key in public_keys(jwt.jwks) if key.algorithm == EDWARDS)


def token_lines(policy: CallerPolicy, jwt: Jwt, found: str, wanted: str) -> Iterator[str]:
    """Lines that leave the consumer in txn.c.

    Args:
        found: map of digests of the consumer claim; wanted: the condition for looking at all.
    """
    for variable in ("t", "v", "m", "e", "n"):
        yield f"http-request unset-var(txn.{variable})"
    yield f"http-request set-var(txn.t) {_token(jwt)} if {wanted}"
    token = "{ var(txn.t) -m found }"
    for number, key in enumerate(_usable(jwt)):
        yield _verify(key, _key_file(policy, number))
    yield f"http-request set-var(txn.e) {_read('exp', 'int')} if {token}"
    yield f"http-request set-var(txn.n) {_read('nbf', 'int')} if {token}"
    valid = [f"acl {name} {test}" for name, test in _tests(policy, jwt)]
    yield from valid
    names = " ".join(dict.fromkeys(name for name, _ in _tests(policy, jwt)))
    early = f"!{{ var(txn.n),sub(txn.now) gt {jwt.clock_skew_s} }}"
    yield "http-request set-var(txn.now) date"
    yield f"http-request set-var(txn.m) bool(true) if {token} {names} {early}"
    checked = "{ var(txn.m) -m found }"
    lookup = f"{_read(jwt.consumer_claim)},sha2(256),hex,lower,map_str({found})"
    yield f"http-request set-var(txn.c) {lookup} if {checked}"
    if policy.otherwise:
        rest = f"if {checked} !{{ var(txn.c) -m found }}"
        yield f"http-request set-var(txn.c) str({policy.otherwise}) {rest}"


def _usable(jwt: Jwt) -> tuple[PublicKey, ...]:
    return tuple(key for key in public_keys(jwt.jwks) if key.algorithm != EDWARDS)


def _key_file(policy: CallerPolicy, number: int) -> str:
    return f"caller.{policy.name}.{number}.pem"


def _token(jwt: Jwt) -> str:
    if jwt.cookie:
        return f"req.cook({jwt.cookie})"
    if jwt.header == "authorization":
        return "http_auth_bearer"
    return f'req.fhdr({jwt.header}),regsub("^Bearer +","")'


def _verify(key: PublicKey, file: str) -> str:
    tests = [f"{{ var(txn.t),jwt_header_query('$.alg') -m str {key.algorithm} }}"]
    if key.id:
        tests.append(f"{{ var(txn.t),jwt_header_query('$.kid') -m str -- {word(key.id)} }}")
    once = "!{ var(txn.v) -m int 1 }"
    check = f"var(txn.t),jwt_verify({key.algorithm},{file})"
    return f"http-request set-var(txn.v) {check} if {' '.join(tests)} {once}"


def _tests(policy: CallerPolicy, jwt: Jwt) -> Iterable[tuple[str, str]]:
    """Names of ACLs with what they compare; several of one name are one or the other."""
    own = f"caller.{policy.name}"
    yield f"{own}.signed", "var(txn.v) -m int 1"
    yield f"{own}.valid", f"date,neg,add(txn.e),add({jwt.clock_skew_s}) -m int gt 0"
    yield f"{own}.issuer", f"{_read('iss')} -m str -- {word(jwt.issuer)}"
    for audience in jwt.audiences:
        for place in _places("aud"):
            yield f"{own}.audience", f"{_read(place)} -m str -- {word(audience)}"
    for number, (name, value) in enumerate(jwt.claims):
        for place in _places(name):
            yield f"{own}.claim{number}", f"{_read(place)} -m str -- {word(value)}"


def _places(claim: str) -> tuple[str, ...]:
    """A claim, or the first elements of the list that it is."""
    return (claim, *(f"{claim}[{number}]" for number in range(MOST_ELEMENTS)))


def _read(claim: str, kind: str = "") -> str:
    as_kind = f",'{kind}'" if kind else ""
    return f"var(txn.t),jwt_payload_query('$.{claim}'{as_kind})"

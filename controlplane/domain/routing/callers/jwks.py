"""Public keys that tokens are signed with: a key set (RFC 7517) read, checked, and given as PEM.

Data planes differ in what they take: Envoy the key set, HAProxy one PEM file per key. A key set
with a private or shared key is refused, because everybody who may read the fleet reads it.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.domain.errors import Invalid

# Key type -> members that hold the key.
_NUMBERS: Mapping[str, tuple[str, ...]] = {"RSA": ("n", "e"), "EC": ("x", "y"), "OKP": ("x",)}
_SECRET = ("d", "p", "q", "dp", "dq", "qi", "oth", "k")
MOST_KEYS = 32
# Below that a key can be broken (RFC 7518, section 3.3).
LEAST_RSA_BITS = 2_048
# Curve -> (bytes of a coordinate, object identifier in DER, signature algorithm).
_CURVES: Mapping[str, tuple[int, bytes, str]] = {
    "P-256": (32, bytes.fromhex("06082a8648ce3d030107"), "ES256"),
    "P-384": (48, bytes.fromhex("06052b81040022"), "ES384"),
    "P-521": (66, bytes.fromhex("06052b81040023"), "ES512"),
    "Ed25519": (32, b"", "EdDSA"),
}
_RSA_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_RSA_ID = bytes.fromhex("06092a864886f70d0101010500")
_EC_ID = bytes.fromhex("06072a8648ce3d0201")
_ED25519_ID = bytes.fromhex("06032b6570")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """One public key.

    Attributes:
        id: the token's header names it; "" is any.
        algorithm: of its signatures (RFC 7518): RS256, ES256, EdDSA...
        curve: "" is RSA.
        numbers: modulus and exponent, or the coordinates; big-endian.
    """

    id: str
    algorithm: str
    curve: str
    numbers: tuple[bytes, ...]


def public_keys(text: str) -> tuple[PublicKey, ...]:
    """The keys of a key set.

    Raises:
        Invalid: `jwks_invalid`, with what is wrong in words that repeat no key.
    """
    try:
        content = json.loads(text)
    except ValueError as error:
        raise _invalid("it is not JSON") from error
    keys = content.get("keys") if isinstance(content, dict) else None
    if not isinstance(keys, list) or not 1 <= len(keys) <= MOST_KEYS:
        raise _invalid(f"it needs `keys`, a list of 1..{MOST_KEYS} keys")
    return tuple(_key(item, index) for index, item in enumerate(keys))


def pem(key: PublicKey) -> str:
    """The key as a PEM text (SubjectPublicKeyInfo, RFC 5280)."""
    if not key.curve:
        body = _der(0x30, b"".join(_integer(number) for number in key.numbers))
        identifier = _RSA_ID
    elif key.curve == "Ed25519":
        body, identifier = key.numbers[0], _ED25519_ID
    else:
        body = b"\x04" + b"".join(key.numbers)
        identifier = _EC_ID + _CURVES[key.curve][1]
    whole = _der(0x30, _der(0x30, identifier) + _der(0x03, b"\x00" + body))
    lines = base64.b64encode(whole).decode()
    wrapped = "\n".join(lines[at : at + 64] for at in range(0, len(lines), 64))
    return f"-----BEGIN PUBLIC KEY-----\n{wrapped}\n-----END PUBLIC KEY-----\n"


def _key(item: object, index: int) -> PublicKey:
    where = f"key {index}"
    if not isinstance(item, dict) or item.get("kty") not in _NUMBERS:
        raise _invalid(f"{where} is none of the types {', '.join(_NUMBERS)}")
    if any(member in item for member in _SECRET):
        raise _invalid(f"{where} holds a secret: give the public key")
    kind = item["kty"]
    identifier = item.get("kid", "")
    if not isinstance(identifier, str):
        raise _invalid(f"{where} has a kid that is no text")
    numbers = tuple(_number(item.get(member), where) for member in _NUMBERS[kind])
    algorithm, curve = _rsa(item, numbers, where) if kind == "RSA" else _curve(item, numbers, where)
    return PublicKey(id=identifier, algorithm=algorithm, curve=curve, numbers=numbers)


def _rsa(item: Mapping[str, object], numbers: tuple[bytes, ...], where: str) -> tuple[str, str]:
    algorithm = item.get("alg", _RSA_ALGORITHMS[0])
    if algorithm not in _RSA_ALGORITHMS:
        raise _invalid(f"{where} has none of the algorithms {', '.join(_RSA_ALGORITHMS)}")
    bits = int.from_bytes(numbers[0]).bit_length()
    if bits < LEAST_RSA_BITS:
        raise _invalid(f"{where} has {bits} bits; {LEAST_RSA_BITS} are the least")
    return str(algorithm), ""


def _curve(item: Mapping[str, object], numbers: tuple[bytes, ...], where: str) -> tuple[str, str]:
    curve = str(item.get("crv"))
    if curve not in _CURVES or (curve == "Ed25519") != (item["kty"] == "OKP"):
        raise _invalid(f"{where} is on none of the curves {', '.join(_CURVES)}")
    size, _, algorithm = _CURVES[curve]
    if any(len(number) != size for number in numbers):
        raise _invalid(f"{where} needs coordinates of {size} bytes")
    if item.get("alg", algorithm) != algorithm:
        raise _invalid(f"{where} on {curve} signs with {algorithm} only")
    return algorithm, curve


def _number(value: object, where: str) -> bytes:
    try:
        padded = f"{value}{'=' * (-len(str(value)) % 4)}".encode("ascii")
        found = base64.b64decode(padded, altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise _invalid(f"{where} has a number that is not base64url") from error
    if not isinstance(value, str) or not found:
        raise _invalid(f"{where} lacks a number")
    return found


def _integer(number: bytes) -> bytes:
    """DER's INTEGER: a leading zero keeps it positive."""
    digits = number.lstrip(b"\x00")
    return _der(0x02, b"\x00" + digits if digits[:1] >= b"\x80" else digits)


def _der(tag: int, content: bytes) -> bytes:
    length = len(content)
    if length < 0x80:
        return bytes((tag, length)) + content
    size = length.to_bytes((length.bit_length() + 7) // 8)
    return bytes((tag, 0x80 | len(size))) + size + content


def _invalid(why: str) -> Invalid:
    return Invalid("jwks_invalid", f"the key set cannot be used: {why}")

"""Tickets signed with ES256: proxies that hold the public key let them through by themselves.

The library signs and checks; what a ticket means is `session_queue.tickets`'. Expiry is compared
here and not by the library: a ticket that is over still says who shows it.
"""

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from controlplane.domain.admission.session_queue.tickets import ISSUER
from controlplane.domain.errors import Invalid

ALGORITHM = "ES256"
CURVE, OTHER_KIND = "secp256r1", "it is of another kind than P-256"
# Checking a signature takes 100 microseconds; a session shows its ticket with each request.
REMEMBERED = 10_000
LONGEST_TOKEN = 4_096
OPTIONS = {
    "require": ["exp", "iat", "iss", "aud", "sub"],
    "verify_exp": False,
    # Agents' clocks differ a little, and nothing depends on it.
    "verify_iat": False,
}


def new_key() -> bytes:
    """A new private key as PEM."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def jwk_set(files: Iterable[bytes]) -> str:
    """Public keys as a JWK set (JSON), for proxies and for `keys` of the policy.

    Args:
        files: PEM of P-256 keys, private or public.

    Raises:
        Invalid: `ticket_key_invalid`.
    """
    return json.dumps({"keys": [_jwk(_public_key(pem)) for pem in files]})


class Signer:
    """Signs with one key, and believes it and some others.

    Args:
        private: PEM of a P-256 key.
        audiences: whose tickets are read.
        others: public keys as a JWK set (JSON); "" is none.

    Raises:
        Invalid: `ticket_key_invalid`.
    """

    def __init__(self, private: bytes, audiences: tuple[str, str], others: str = "") -> None:
        self._private = _private_key(private)
        self._audiences = list(audiences)
        public = self._private.public_key()
        self.id = _key_id(public)
        self._keys: dict[str, object] = {**_keys_of(others), self.id: public}
        self._read: OrderedDict[str, Mapping[str, object]] = OrderedDict()

    def sign(self, claims: dict[str, object]) -> str:
        """A token with these claims."""
        return jwt.encode(claims, self._private, algorithm=ALGORITHM, headers={"kid": self.id})

    def read(self, token: str) -> Mapping[str, object] | None:
        """What a token says, whatever its time; None when nobody who is believed signed it."""
        found = self._read.get(token)
        if found is not None:
            self._read.move_to_end(token)
            return found
        found = self._checked(token)
        if found is not None:
            self._read[token] = found
            if len(self._read) > REMEMBERED:
                self._read.popitem(last=False)
        return found

    def _checked(self, token: str) -> Mapping[str, object] | None:
        if not 0 < len(token) <= LONGEST_TOKEN:
            return None
        try:
            key = self._keys[jwt.get_unverified_header(token).get("kid", "")]
            found: Mapping[str, object] = jwt.decode(
                token,
                key,  # type: ignore[arg-type]
                algorithms=[ALGORITHM],
                audience=self._audiences,
                issuer=ISSUER,
                options=OPTIONS,  # type: ignore[arg-type]
            )
        except (jwt.PyJWTError, KeyError, TypeError, ValueError):
            return None
        return found


def _jwk(public: ec.EllipticCurvePublicKey) -> dict[str, object]:
    written = jwt.algorithms.ECAlgorithm.to_jwk(public, as_dict=True)
    return {**written, "kid": _key_id(public), "alg": ALGORITHM, "use": "sig"}


def _public_key(pem: bytes) -> ec.EllipticCurvePublicKey:
    if b"PUBLIC KEY" not in pem:
        return _private_key(pem).public_key()
    try:
        key = serialization.load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _invalid("it is no public key in PEM") from error
    if not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.name != CURVE:
        raise _invalid(OTHER_KIND)
    return key


def _private_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _invalid("it is no private key in PEM without a password") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.curve.name != CURVE:
        raise _invalid(OTHER_KIND)
    return key


def _key_id(public: ec.EllipticCurvePublicKey) -> str:
    written = public.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    digest = hashes.Hash(hashes.SHA256())
    digest.update(written)
    return digest.finalize().hex()[:16]


def _keys_of(text: str) -> dict[str, object]:
    if not text:
        return {}
    try:
        found = jwt.PyJWKSet.from_json(text).keys
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError) as error:
        raise _invalid("keys of the policy are no JWK set") from error
    return {key.key_id or "": key.key for key in found}


def _invalid(words: str) -> Invalid:
    return Invalid(
        "ticket_key_invalid",
        f"the key of the tickets cannot be used: {words}; make one with openssl ecparam "
        "-genkey -name prime256v1 -noout | openssl pkcs8 -topk8 -nocrypt",
    )

"""Public keys: read, checked, given as PEM; the reference is the cryptography package."""

import base64
import json
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from controlplane.domain.errors import Invalid
from controlplane.domain.routing.callers.jwks import MOST_KEYS, pem, public_keys

Jwk = dict[str, object]
CURVES: dict[str, Callable[[], ec.EllipticCurve]] = {
    "ES256": ec.SECP256R1,
    "ES384": ec.SECP384R1,
    "ES512": ec.SECP521R1,
}


def jwks(*keys: Jwk) -> str:
    return json.dumps({"keys": list(keys)})


def curve_key(algorithm: str = "ES256") -> Jwk:
    key = ec.generate_private_key(CURVES[algorithm]()).public_key()
    return json.loads(ECAlgorithm.to_jwk(key)) | {"kid": "k1"}  # type: ignore[no-any-return]


@pytest.mark.parametrize("algorithm", CURVES)
def test_a_key_on_a_curve(algorithm: str) -> None:
    key = ec.generate_private_key(CURVES[algorithm]()).public_key()
    (read,) = public_keys(jwks(json.loads(ECAlgorithm.to_jwk(key)) | {"kid": "k1"}))
    assert (read.id, read.algorithm) == ("k1", algorithm)
    wanted = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    assert pem(read) == wanted


def test_an_edwards_key() -> None:
    key = ed25519.Ed25519PrivateKey.generate().public_key()
    (read,) = public_keys(jwks(json.loads(OKPAlgorithm.to_jwk(key))))
    assert (read.id, read.algorithm) == ("", "EdDSA")
    wanted = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    assert pem(read) == wanted


@pytest.mark.parametrize("algorithm", ["", "RS512", "PS256"])
def test_an_rsa_key(algorithm: str) -> None:
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048).public_key()
    named = {"alg": algorithm} if algorithm else {}
    (read,) = public_keys(jwks(json.loads(RSAAlgorithm.to_jwk(key)) | named))
    assert read.algorithm == (algorithm or "RS256")
    wanted = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    assert pem(read) == wanted


def small_rsa(bits: int = 1_024) -> Jwk:
    number = base64.urlsafe_b64encode((1 << bits - 1).to_bytes(bits // 8)).decode().rstrip("=")
    return {"kty": "RSA", "n": number, "e": "AQAB"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[]", "`keys`"),
        ("{}", "`keys`"),
        (jwks(), f"1..{MOST_KEYS}"),
        (jwks(*[curve_key()] * (MOST_KEYS + 1)), f"1..{MOST_KEYS}"),
        ('{"keys": [1]}', "none of the types"),
        (jwks({"kty": "oct", "k": "c2VjcmV0"}), "none of the types"),
        (jwks(curve_key() | {"d": "c2VjcmV0"}), "holds a secret"),
        (jwks(curve_key() | {"kid": 7}), "kid"),
        (jwks(curve_key() | {"x": "*"}), "not base64url"),
        (jwks(curve_key() | {"x": "é"}), "not base64url"),
        (jwks(curve_key() | {"x": ""}), "lacks a number"),
        (jwks(curve_key() | {"x": 4}), "base64url"),
        (jwks(curve_key() | {"x": 1234}), "lacks a number"),
        (jwks(curve_key() | {"x": "AQAB"}), "32 bytes"),
        (jwks(curve_key() | {"crv": "secp256k1"}), "none of the curves"),
        (jwks(curve_key() | {"crv": "Ed25519"}), "none of the curves"),
        (jwks(curve_key() | {"alg": "ES384"}), "ES256 only"),
        (jwks(small_rsa()), "1024 bits"),
        (jwks(small_rsa(2_048) | {"alg": "HS256"}), "none of the algorithms"),
    ],
)
def test_a_key_set_that_is_refused(text: str, words: str) -> None:
    with pytest.raises(Invalid, match=words) as caught:
        public_keys(text)
    assert caught.value.code == "jwks_invalid"
    assert "c2VjcmV0" not in caught.value.message

import json

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from controlplane.domain.admission.session_queue.tickets import Ticket, audiences, claims
from controlplane.domain.errors import Invalid
from gateway.admission.session_queue.signing import REMEMBERED, Signer, jwk_set, new_key

QUEUE = audiences("seats")
TICKET = Ticket(session="abc", admitted=True, issued_s=1_000, expires_s=1_020, entered_s=1_000)


def pem(key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def test_what_was_signed_is_read_again_whatever_its_time() -> None:
    signer = Signer(new_key(), QUEUE)
    token = signer.sign(claims("seats", TICKET))
    assert signer.read(token) == claims("seats", TICKET)
    assert signer.read(token) is signer.read(token)


def test_another_key_is_believed_when_the_policy_names_it() -> None:
    key, other = new_key(), new_key()
    token = Signer(key, QUEUE).sign(claims("seats", TICKET))
    assert Signer(other, QUEUE).read(token) is None
    assert Signer(other, QUEUE, jwk_set([key])).read(token) == claims("seats", TICKET)


def test_the_public_key_is_one_that_proxies_read() -> None:
    private = new_key()
    loaded = serialization.load_pem_private_key(private, None)
    public = loaded.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    key, same = json.loads(jwk_set([private, public]))["keys"]
    assert key == same
    assert key["kid"] == Signer(private, QUEUE).id
    assert {name: key[name] for name in ("kty", "crv", "alg", "use")} == {
        "kty": "EC",
        "crv": "P-256",
        "alg": "ES256",
        "use": "sig",
    }
    assert "d" not in key


def test_nothing_else_is_believed() -> None:
    key = new_key()
    signer = Signer(key, QUEUE)
    private = serialization.load_pem_private_key(key, None)
    good = claims("seats", TICKET)
    head = {"kid": signer.id}
    forged = [
        "",
        "x",
        "x" * 5_000,
        jwt.encode(good, None, algorithm="none", headers=head),
        jwt.encode(good, "a secret that is long enough for it", algorithm="HS256", headers=head),
        jwt.encode(good, private, algorithm="ES256"),
        jwt.encode({**good, "iss": "x"}, private, algorithm="ES256", headers=head),
        jwt.encode({**good, "aud": "x"}, private, algorithm="ES256", headers=head),
        jwt.encode({"sub": "abc"}, private, algorithm="ES256", headers=head),
        jwt.encode(good, private, algorithm="ES256", headers={"kid": "x"}),
    ]
    assert [signer.read(token) for token in forged] == [None] * len(forged)


def test_memory_is_bounded() -> None:
    signer = Signer(new_key(), QUEUE)
    for number in range(REMEMBERED + 5):
        signer._read[str(number)] = {}
    signer.read(signer.sign(claims("seats", TICKET)))
    assert len(signer._read) == REMEMBERED + 5


@pytest.mark.parametrize(
    "private",
    [
        b"x",
        pem(ec.generate_private_key(ec.SECP384R1())),
        pem(ed25519.Ed25519PrivateKey.generate()),
    ],
)
def test_keys_of_another_kind_are_refused(private: bytes) -> None:
    with pytest.raises(Invalid, match="openssl"):
        Signer(private, QUEUE)


@pytest.mark.parametrize(
    "public",
    [
        b"-----BEGIN PUBLIC KEY-----",
        ed25519.Ed25519PrivateKey.generate()
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
    ],
)
def test_public_keys_of_another_kind_are_refused(public: bytes) -> None:
    with pytest.raises(Invalid, match=r"public key|P-256"):
        jwk_set([public])


@pytest.mark.parametrize("keys", ["x", "[]", "{}", '{"keys": [{"kty": "EC"}]}'])
def test_keys_of_the_policy_that_cannot_be_read_are_refused(keys: str) -> None:
    with pytest.raises(Invalid, match="JWK set"):
        Signer(new_key(), QUEUE, keys)

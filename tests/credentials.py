"""Keys, tokens and certificates for the tests about callers, made anew for each run."""

import datetime
import hashlib
import json
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

ISSUER, AUDIENCE = "https://id.example.com", "site"
HOUR = datetime.timedelta(hours=1)


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """Who signs tokens, with one key."""

    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
    algorithm: str = "ES256"
    key_id: str = "k1"

    @property
    def jwks(self) -> str:
        public = self.key.public_key()
        kind = ECAlgorithm if isinstance(public, ec.EllipticCurvePublicKey) else RSAAlgorithm
        text = kind.to_jwk(public)  # type: ignore[arg-type]
        return json.dumps({"keys": [json.loads(text) | {"kid": self.key_id}]})

    def token(self, subject: str = "user-1", **claims: object) -> str:
        usual = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": subject,
            "exp": int(time.time()) + 60,
        }
        told = {name: value for name, value in (usual | claims).items() if value is not None}
        headers = {"kid": self.key_id}
        return jwt.encode(told, self.key, self.algorithm, headers=headers)  # type: ignore[arg-type]


@cache
def issuer() -> Issuer:
    return Issuer(key=ec.generate_private_key(ec.SECP256R1()))


@cache
def stranger() -> Issuer:
    """Another key under the same id."""
    return Issuer(key=ec.generate_private_key(ec.SECP256R1()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """Signs certificates of hosts and of clients."""

    name: str
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def issue(self, subject: str, *names: x509.GeneralName, hours: int = 1) -> tuple[str, str]:
        """Certificate and key as PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(subject, self.name, key.public_key(), hours)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        made = builder.sign(self.key, hashes.SHA256())
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return made.public_bytes(Encoding.PEM).decode(), private.decode()


def authority(name: str) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(name, name, key.public_key(), 2)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return Authority(name=name, key=key, certificate=builder.sign(key, hashes.SHA256()))


def _builder(
    subject: str, issued_by: str, key: ec.EllipticCurvePublicKey, hours: int
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issued_by))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 2 * HOUR)
        .not_valid_after(now + hours * HOUR)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def store(folder: Path, pair: tuple[str, str]) -> None:
    """Put a certificate and its key in place as a renewal does: written beside, moved over."""
    folder.mkdir(exist_ok=True)
    for name, text in zip(("key.pem", "chain.pem"), reversed(pair), strict=True):
        beside = folder / f".{name}"
        beside.write_text(text)
        beside.rename(folder / name)


def fingerprint(pem: str) -> str:
    return x509.load_pem_x509_certificate(pem.encode()).fingerprint(hashes.SHA256()).hex()

"""Signed requests: what a caller shows is checked here, with the secret that the gateway holds.

Pure: told the time and the secret. HMAC is RFC 2104 with SHA-256; texts are compared in a time that
does not tell how much of them is right. Used by gateways of ours and by applications.
"""

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass, field, replace

KEY_HEADER = "x-signature-key"
TIME_HEADER = "x-signature-time"
NONCE_HEADER = "x-signature-nonce"
CONTENT_HEADER = "x-content-sha256"
SIGNATURE_HEADER = "x-signature"
_NONCE = re.compile(r"[A-Za-z0-9_-]{16,64}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """What a signature is over.

    Attributes:
        host: lower case, without port; target: path and query as they were sent.
        key: name of the secret; time_s: when it was signed, UTC epoch seconds.
        content_sha256: of the body, 64 hexadecimal digits.
    """

    method: str
    host: str
    target: str
    key: str
    time_s: int
    nonce: str
    content_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """Signatures that were taken: (key, nonce) -> until when it matters, UTC epoch seconds."""

    until_s: dict[tuple[str, str], float] = field(default_factory=dict)


def signature(request: Signed, secret: bytes) -> str:
    """What the caller sends, in base64."""
    return base64.b64encode(_mac(request, secret)).decode()


def verify(request: Signed, sent: str, secret: bytes, *, now_s: float, window_s: int) -> bool:
    """Whether a signature is right and of now; `taken` tells whether it came before."""
    if not _NONCE.fullmatch(request.nonce) or not _DIGEST.fullmatch(request.content_sha256):
        return False
    if abs(now_s - request.time_s) > window_s:
        return False
    try:
        shown = base64.b64decode(sent, validate=True)
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(shown, _mac(request, secret))


def taken(
    request: Signed, memory: Remembered, *, now_s: float, window_s: int, most: int
) -> tuple[bool, Remembered]:
    """Whether a verified request may pass, and the memory after it.

    One passes once: its key and nonce are kept until its time is out of the window.

    Args:
        most: entries of the memory; when they are all needed, nobody passes, because to forget one
            would let it pass again.
    """
    current = {what: until for what, until in memory.until_s.items() if until >= now_s}
    what = (request.key, request.nonce)
    if what in current or len(current) >= most:
        return False, replace(memory, until_s=current)
    current[what] = float(request.time_s + window_s)
    return True, replace(memory, until_s=current)


def _mac(request: Signed, secret: bytes) -> bytes:
    lines = (
        request.method,
        request.host,
        request.target,
        str(request.time_s),
        request.nonce,
        request.content_sha256,
    )
    return hmac.new(secret, "\n".join(lines).encode(), hashlib.sha256).digest()

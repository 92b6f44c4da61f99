"""The token by which an agent or a client shows who it is.

Read before each call, so that a token may be rotated.
"""

from pathlib import Path

from controlplane.domain.errors import Retryable


def read_token(path: Path) -> str:
    """The token.

    Raises:
        Retryable: `token_file_unreadable`: no file, or no token in it, as while it is rewritten.
    """
    try:
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Retryable("token_file_unreadable", f"cannot read the token: {error}") from error
    if not token or not token.isprintable():
        raise Retryable("token_file_unreadable", f"{path} holds no token: one line, nothing else")
    return token

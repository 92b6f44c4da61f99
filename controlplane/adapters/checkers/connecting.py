"""Why a connection was none, in the words of every check."""

import os

from controlplane.domain.services import HealthCheck


def reason(error: OSError | TimeoutError, check: HealthCheck) -> str:
    """A few words; the endpoint stands beside them."""
    if isinstance(error, TimeoutError) and not error.errno:
        return f"no answer within {check.timeout_ms} ms"
    if error.errno:
        return os.strerror(error.errno).lower()
    return str(error) or type(error).__name__

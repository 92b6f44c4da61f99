"""The one family of errors: each kind says what the caller should do.

Raised by every layer, translated once at each edge (HTTP problem, CLI exit code, log event).
A message says what, where, measured against which limit, and what to do. Must never carry a
secret in its message or details.
"""

from collections.abc import Mapping


class ControlPlaneError(Exception):
    """Root of all errors that this project raises on purpose.

    Args:
        code: stable identifier in snake case, one row in docs/errors.md.
        message: one sentence for a person.
        details: further facts, text keys to plain JSON values.
    """

    def __init__(
        self, code: str, message: str, details: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details: Mapping[str, object] = dict(details or {})


class Invalid(ControlPlaneError):
    """The input is wrong: correct it; the same call fails again."""


class NotFound(ControlPlaneError):
    """The named thing is not there."""


class Conflict(ControlPlaneError):
    """Somebody else changed it first: read again, decide again."""


class Refused(ControlPlaneError):
    """A guardrail or a role says no: the details name the limit and, if any, how to force it."""


class Retryable(ControlPlaneError):
    """The outside is slow or away: the same call may go through after `after_s` seconds."""

    def __init__(
        self,
        code: str,
        message: str,
        details: Mapping[str, object] | None = None,
        after_s: float = 1.0,
    ) -> None:
        super().__init__(code, message, details)
        self.after_s = after_s


class Rejected(ControlPlaneError):
    """A data plane read the configuration and refused it: repeating it is useless."""

"""Errors of the command line: one exit code per kind, findings with their place.

Called by `app.main` for every error that a command lets through. Must never print a secret or
a traceback for an error that the project raises on purpose.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from controlplane.domain.errors import (
    Conflict,
    ControlPlaneError,
    Invalid,
    NotFound,
    Refused,
    Rejected,
    Retryable,
)

OTHER = 1
EXIT_CODES: Mapping[type[ControlPlaneError], int] = {
    Invalid: 2,
    NotFound: 3,
    Conflict: 4,
    Refused: 5,
    Retryable: 6,
    Rejected: 7,
}
# Shown on the lines of the findings, or only useful to programs.
HIDDEN_DETAILS = frozenset({"errors", "count", "file"})


def exit_code(error: ControlPlaneError) -> int:
    """The exit code of an error's kind (docs/cli.md); 1 for a kind without one."""
    return EXIT_CODES.get(type(error), OTHER)


def lines(error: ControlPlaneError) -> Iterator[str]:
    """What a person reads: code and message, then one line per finding, then other details."""
    yield f"error: {error.message} [{error.code}]"
    file = str(error.details.get("file", ""))
    findings = error.details.get("errors")
    if isinstance(findings, list):
        for finding in findings:
            if isinstance(finding, Mapping):
                yield f"  {_finding(finding, file)}"
    for name, value in error.details.items():
        if name not in HIDDEN_DETAILS and value not in (None, "", [], {}):
            yield f"  {name}: {_plain(value)}"


def report(error: ControlPlaneError) -> int:
    """Print an error to standard error and return its exit code."""
    for line in lines(error):
        print(line, file=sys.stderr)
    return exit_code(error)


@contextmanager
def in_file(name: str) -> Iterator[None]:
    """Name the file in the findings of any `Invalid` that the block raises."""
    try:
        yield
    except Invalid as error:
        raise Invalid(error.code, error.message, {**error.details, "file": name}) from error


def _finding(finding: Mapping[str, object], file: str) -> str:
    """Format `file:line:column: message`, leaving out what is not known."""
    place = [file] if file else []
    for name in ("line", "column"):
        value = finding.get(name)
        if isinstance(value, int) and value > 0:
            place.append(str(value))
    head = ":".join(place) if place else _subject(finding)
    # Some words of the server begin with the place already.
    where = f"line {finding.get('line')}, column {finding.get('column')}: "
    message = str(finding.get("message", "")).removeprefix(where).removeprefix(f"{head}: ")
    return f"{head}: {message}" if head else message


def _plain(value: object) -> str:
    """A detail without Python's quotes and brackets."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _subject(finding: Mapping[str, object]) -> str:
    index = finding.get("index")
    parts = [] if index is None else [f"sample {index}"]
    parts += [str(finding[name]) for name in ("path", "field") if finding.get(name)]
    return ", ".join(parts)

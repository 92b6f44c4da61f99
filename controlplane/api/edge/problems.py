"""Errors as RFC 9457 problem documents: the one translation at the edge of HTTP.

Installed by `app`. Every answer that is no success has the same shape, with the stable `code` of
docs/errors.md. Must never show a traceback or an internal value to a caller.
"""

import math
import traceback
from collections.abc import Mapping, Sequence
from http import HTTPStatus

import orjson
import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from controlplane.api.wire.values import sendable
from controlplane.domain.errors import (
    Conflict,
    ControlPlaneError,
    Invalid,
    NotFound,
    Refused,
    Rejected,
    Retryable,
)

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"

STATUS_OF_KIND: Mapping[type[ControlPlaneError], HTTPStatus] = {
    Invalid: HTTPStatus.UNPROCESSABLE_ENTITY,
    NotFound: HTTPStatus.NOT_FOUND,
    Conflict: HTTPStatus.CONFLICT,
    Refused: HTTPStatus.FORBIDDEN,
    Retryable: HTTPStatus.SERVICE_UNAVAILABLE,
    Rejected: HTTPStatus.BAD_GATEWAY,
}
# Codes for which HTTP has a more exact status than their kind's.
STATUS_OF_CODE: Mapping[str, HTTPStatus] = {
    "unauthenticated": HTTPStatus.UNAUTHORIZED,
    "too_many_bad_tokens": HTTPStatus.TOO_MANY_REQUESTS,
    "body_too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "body_too_slow": HTTPStatus.REQUEST_TIMEOUT,
    "fleet_too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "route_file_too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "method_not_allowed": HTTPStatus.METHOD_NOT_ALLOWED,
    "request_malformed": HTTPStatus.BAD_REQUEST,
    "sale_not_open": HTTPStatus.TOO_EARLY,
}


def install(app: FastAPI) -> None:
    """Let every error of the application answer as a problem."""
    app.add_exception_handler(ControlPlaneError, _on_own)
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(ClientDisconnect, _on_leaving)
    app.add_exception_handler(Exception, _on_unexpected)


def status_of(error: ControlPlaneError, *, conditional: bool) -> HTTPStatus:
    """The HTTP status of an error; `conditional` when the request came with If-Match."""
    if error.code in STATUS_OF_CODE:
        return STATUS_OF_CODE[error.code]
    if isinstance(error, Conflict) and conditional:
        return HTTPStatus.PRECONDITION_FAILED
    return STATUS_OF_KIND.get(type(error), HTTPStatus.INTERNAL_SERVER_ERROR)


def respond(request: Request, error: ControlPlaneError) -> Response:
    """The problem document of an error."""
    status = status_of(error, conditional="if-match" in request.headers)
    content: dict[str, object] = {
        "type": f"urn:signalbox:error:{error.code}",
        "title": status.phrase,
        "status": status.value,
        "detail": error.message,
        "instance": request.url.path,
        "code": error.code,
    }
    details = dict(error.details)
    if "errors" in details:
        content["errors"] = details.pop("errors")
    if details:
        content["details"] = details
    body = orjson.dumps(content, default=str)
    return Response(body, status_code=status, media_type=MEDIA_TYPE, headers=_headers(error))


def _headers(error: ControlPlaneError) -> dict[str, str]:
    headers = {"Cache-Control": "no-store"}
    if error.code == "unauthenticated":
        headers["WWW-Authenticate"] = 'Bearer realm="signalbox"'
    if isinstance(error, Retryable):
        headers["Retry-After"] = str(max(1, math.ceil(error.after_s)))
    return headers


async def _on_own(request: Request, error: Exception) -> Response:
    if not isinstance(error, ControlPlaneError):
        raise error
    return respond(request, error)


async def _on_validation(request: Request, error: Exception) -> Response:
    faults: Sequence[Mapping[str, object]] = ()
    if isinstance(error, RequestValidationError):
        faults = error.errors()
    errors = [_fault(fault) for fault in faults[:100]]
    first = errors[0]["message"] if errors else "it does not have the expected shape"
    if _undeclared(request, faults):
        first = "its body is not declared as JSON; send Content-Type: application/json"
    return respond(
        request,
        Invalid("request_invalid", f"the request cannot be used: {first}", {"errors": errors}),
    )


def _undeclared(request: Request, faults: Sequence[Mapping[str, object]]) -> bool:
    """Whether a body could not be read because it came as a form, as curl sends it by itself."""
    unread = any(f.get("loc") == ("body",) and isinstance(f.get("input"), bytes) for f in faults)
    return unread and "json" not in request.headers.get("content-type", "")


def _fault(fault: Mapping[str, object]) -> dict[str, object]:
    location = fault.get("loc", ())
    path = ""
    for part in location if isinstance(location, tuple) else ():
        word = sendable(str(part))
        path += f"[{part}]" if isinstance(part, int) else f".{word}" if path else word
    found = repr(fault.get("input"))
    shown = found if len(found) <= 80 else found[:80] + "..."
    message = f"{path}: {fault.get('msg', 'invalid')}"
    return {"path": path, "pointer": _pointer(location), "found": shown, "message": message}


def _pointer(location: object) -> str:
    """The place in the body as a JSON pointer; "" for the whole body, a query or a header."""
    parts = location if isinstance(location, tuple) and location[:1] == ("body",) else ()
    words = (sendable(str(part)).replace("~", "~0").replace("/", "~1") for part in parts[1:])
    return "".join(f"/{word}" for word in words)


async def _on_http(request: Request, error: Exception) -> Response:
    # FastAPI hides what a limit raised while a JSON body was read behind its own 400.
    if isinstance(error.__cause__, ControlPlaneError):
        return respond(request, error.__cause__)
    status = error.status_code if isinstance(error, HTTPException) else 400
    if status == HTTPStatus.NOT_FOUND:
        return respond(
            request,
            NotFound("no_such_address", f"nothing answers at {request.url.path[:200]}"),
        )
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return respond(
            request,
            Invalid(
                "method_not_allowed",
                f"{request.url.path[:200]} does not know the method {request.method}",
            ),
        )
    return respond(request, Invalid("request_malformed", f"the request cannot be read: {error}"))


async def _on_leaving(request: Request, _error: Exception) -> Response:
    # The caller left while it sent its body: nobody reads the answer, and nothing failed here.
    return respond(request, Invalid("request_malformed", "the body ended before its length"))


async def _on_unexpected(request: Request, error: Exception) -> Response:
    # Plain text: a traceback that shows local variables would show the caller's token.
    log.error(
        "api.failed",
        path=request.url.path,
        method=request.method,
        traceback="".join(traceback.format_exception(error)),
    )
    return respond(
        request,
        ControlPlaneError(
            "internal_error", "the control plane failed at this; the log has the traceback"
        ),
    )

import httpx
import pytest
import structlog
from fastapi import FastAPI, Request
from starlette.requests import ClientDisconnect

from controlplane.api.edge import problems
from controlplane.api.edge.limits import MOST_BODY_BYTES
from controlplane.domain.access import AccessRole
from controlplane.domain.errors import (
    Conflict,
    ControlPlaneError,
    Invalid,
    NotFound,
    Refused,
    Rejected,
    Retryable,
)
from tests.api.house import House

KINDS = [
    (Invalid("a_code", "words", {"errors": [{"message": "m"}], "limit": 3}), 422),
    (NotFound("a_code", "words"), 404),
    (Conflict("a_code", "words"), 409),
    (Refused("a_code", "words"), 403),
    (Retryable("a_code", "words", after_s=2.1), 503),
    (Rejected("a_code", "words"), 502),
    (ControlPlaneError("a_code", "words"), 500),
]


async def answer(error: Exception, **headers: str) -> httpx.Response:
    app = FastAPI()
    problems.install(app)

    @app.get("/thing")
    async def thing(_request: Request) -> None:
        raise error

    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        return await client.get("/thing", headers=headers)


@pytest.mark.parametrize(("error", "status"), KINDS, ids=lambda v: type(v).__name__)
async def test_each_kind_has_its_status(error: ControlPlaneError, status: int) -> None:
    response = await answer(error)
    content = response.json()
    assert response.status_code == content["status"] == status
    assert response.headers["content-type"] == "application/problem+json"
    assert (content["code"], content["detail"]) == ("a_code", "words")
    assert (content["type"], content["instance"]) == ("urn:signalbox:error:a_code", "/thing")


async def test_details_and_errors_are_shown_apart() -> None:
    content = (await answer(KINDS[0][0])).json()
    assert content["errors"] == [{"message": "m"}]
    assert content["details"] == {"limit": 3}


async def test_a_conflict_with_if_match_is_a_failed_precondition() -> None:
    assert (await answer(Conflict("a_code", "w"), **{"If-Match": '"1"'})).status_code == 412


async def test_retryable_says_when() -> None:
    assert (await answer(KINDS[4][0])).headers["retry-after"] == "3"


async def test_an_unexpected_error_shows_nothing_of_itself() -> None:
    response = await answer(RuntimeError("a secret inside"))
    assert response.status_code == 500
    assert response.json()["code"] == "internal_error"
    assert "secret" not in response.text


async def test_a_traceback_in_the_log_shows_no_token(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    house.fleets.plan = None  # type: ignore[method-assign, assignment]
    async with house.client() as client:
        response = await client.put("/v1/fleet?dry_run=true", content="datacenters: [")
        assert response.status_code == 422
        body = "datacenters: [{name: a, role: primary, region: x}]"
        response = await client.put("/v1/fleet?dry_run=true", content=body)
    assert response.status_code == 500
    out = capsys.readouterr()
    assert "TypeError" in out.out + out.err
    assert house.secrets[AccessRole.ADMIN] not in out.out + out.err


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/nothing", 404, "no_such_address"),
        ("DELETE", "/v1/fleet", 405, "method_not_allowed"),
        ("GET", "/v1/decisions?limit=0", 422, "request_invalid"),
        ("GET", "/v1/weights?wait=61", 422, "request_invalid"),
        ("GET", "/v1/weights?wait=-1", 422, "request_invalid"),
        ("POST", "/v1/tokens", 422, "request_invalid"),
    ],
)
async def test_the_framework_answers_in_the_same_shape(
    admin: httpx.AsyncClient, method: str, path: str, status: int, code: str
) -> None:
    response = await admin.request(method, path)
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert response.headers["content-type"] == "application/problem+json"


async def test_a_validation_error_names_the_field(admin: httpx.AsyncClient) -> None:
    response = await admin.post("/v1/tokens", json={"name": "a", "role": "king", "extra": 1})
    paths = {error["path"] for error in response.json()["errors"]}
    assert paths == {"body.role", "body.extra"}


@pytest.mark.parametrize("path", ["/v1/samples", "/v1/models", "/v1/tokens"])
async def test_a_body_over_the_limit_is_refused(admin: httpx.AsyncClient, path: str) -> None:
    headers = {"content-type": "application/json"}
    response = await admin.post(path, content=b" " * (MOST_BODY_BYTES + 1), headers=headers)
    assert (response.status_code, response.json()["code"]) == (413, "body_too_large")


async def test_a_body_without_a_length_is_counted_as_it_arrives(admin: httpx.AsyncClient) -> None:
    async def parts():  # type: ignore[no-untyped-def]
        for _ in range(6):
            yield b" " * 1_000_000

    response = await admin.post("/v1/samples", content=parts())
    assert (response.status_code, response.json()["code"]) == (413, "body_too_large")


async def test_every_answer_carries_the_safety_headers(admin: httpx.AsyncClient) -> None:
    for path in ("/healthz", "/v1/nothing", "/v1/tokens"):
        headers = (await admin.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


async def test_a_caller_that_leaves_in_its_body_is_no_failure_of_ours() -> None:
    with structlog.testing.capture_logs() as logged:
        response = await answer(ClientDisconnect())
    assert (response.status_code, response.json()["code"]) == (400, "request_malformed")
    assert logged == []

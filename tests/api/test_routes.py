"""Single routes over HTTP: written, published, gray, rolled back, matched and explained."""

import httpx
import pytest

from controlplane.domain.access import AccessRole
from controlplane.domain.snapshot import Section
from tests.api.house import House
from tests.api.test_fleet import EXAMPLE

ROUTE = {"service": "tickets", "path": {"value": "/api/v2"}}


@pytest.fixture
async def declared(house: House, admin: httpx.AsyncClient) -> httpx.AsyncClient:
    assert (await admin.put("/v1/fleet", content=EXAMPLE)).is_success
    await house.tick()
    return admin


def routes_bytes(house: House) -> bytes:
    current = house.publication.current
    assert current is not None
    return current.sections[Section.ROUTES]


def published(house: House) -> list[str]:
    current = house.publication.current
    assert current is not None
    return [route.id for route in current.content.routes.routes]


async def done(answer: httpx.Response) -> dict[str, object]:
    assert answer.is_success, answer.text
    content: dict[str, object] = answer.json()
    return content


async def test_a_route_goes_through_its_life(house: House, declared: httpx.AsyncClient) -> None:
    before = routes_bytes(house)
    drafted = await declared.put("/v1/routes/v2?reason=new", json=ROUTE)
    assert drafted.headers["etag"] == '"2"'
    content = await done(drafted)
    assert content["route"] == {
        "id": "v2",
        "life": "draft",
        "published": None,
        "draft": {"id": "v2", **ROUTE},
        "gray": None,
        "author": "the-admin",
        "changed": "2027-01-15T08:00:00Z",
    }
    await house.tick()
    assert routes_bytes(house) == before
    steps = [{"share": 0.05, "hold_s": 60}, {"share": 0.2}]
    gray = await done(
        await declared.post("/v1/routes/v2:gray", json={"by": "user", "steps": steps})
    )
    assert gray["route"]["life"] == "gray"  # type: ignore[index]
    await house.tick()
    assert "gray/v2" in published(house)
    await house.routes.look()
    one = await done(await declared.get("/v1/routes/v2"))
    assert one["gray"]["verdict"] == "wait"  # type: ignore[index]
    assert one["gray"]["steps"][0] == {"share": 0.05, "gateways": [], "hold_s": 60.0}  # type: ignore[index]
    await done(await declared.post("/v1/routes/v2:step", json={"reason": "looks good"}))
    await done(await declared.post("/v1/routes/v2:stop"))
    await done(await declared.post("/v1/routes/v2:publish", json={"reason": "go"}))
    await house.tick()
    assert "v2" in published(house)
    retired = await done(await declared.post("/v1/routes/v2:retire"))
    assert retired["route"]["life"] == "retired"  # type: ignore[index]
    await house.tick()
    assert routes_bytes(house) == before
    found = await done(await declared.get("/v1/routes/v2/revisions"))
    assert [one["event"] for one in found["items"]] == ["retire", "publish", "gray"]  # type: ignore[attr-defined]


async def test_the_same_document_again_changes_nothing(declared: httpx.AsyncClient) -> None:
    for generation, publish in ((2, ""), (2, ""), (3, "?publish=true"), (3, "?publish=true")):
        answer = await declared.put(f"/v1/routes/v2{publish}", json=ROUTE)
        assert answer.headers["etag"] == f'"{generation}"'
        content = await done(answer)
    assert content["changed"] is False
    assert content["route"]["life"] == "full"  # type: ignore[index]


async def test_a_rollback_over_http_is_byte_equal(
    house: House, declared: httpx.AsyncClient
) -> None:
    before = routes_bytes(house)
    changed = {"service": "tickets", "path": {"value": "/other"}}
    content = await done(await declared.put("/v1/routes/tickets-api?publish=true", json=changed))
    assert content["route"]["life"] == "full"  # type: ignore[index]
    await house.tick()
    assert routes_bytes(house) != before
    await done(await declared.post("/v1/routes/tickets-api:rollback"))
    await house.tick()
    assert routes_bytes(house) == before
    answer = await declared.get("/v1/routes:revisions?limit=2")
    page = await done(answer)
    assert [one["event"] for one in page["items"]] == ["rollback", "publish"]  # type: ignore[attr-defined]
    cursor = {"cursor": str(page["next"])}
    rest = await done(await declared.get("/v1/routes:revisions", params=cursor))
    assert {one["event"] for one in rest["items"]} == {"apply"}  # type: ignore[attr-defined]
    answer = await declared.post("/v1/routes/tickets-api:rollback", json={"revision": 10**6})
    assert (answer.status_code, answer.json()["code"]) == (404, "revision_not_found")


async def test_the_table_goes_back_to_a_generation(
    house: House, declared: httpx.AsyncClient
) -> None:
    before = routes_bytes(house)
    await done(await declared.put("/v1/routes/v2?publish=true", json=ROUTE))
    wanted = {"generation": 1, "reason": "undo", "force": True}
    answer = await declared.post("/v1/routes:rollback", json=wanted)
    assert answer.headers["etag"] == '"4"'
    assert (await done(answer))["changes"] == ["remove route/v2"]
    await house.tick()
    assert routes_bytes(house) == before


async def test_routes_are_listed_page_by_page_with_drafts(declared: httpx.AsyncClient) -> None:
    await done(await declared.put("/v1/routes/v2", json=ROUTE))
    page = await done(await declared.get("/v1/routes:list?limit=3"))
    ids = [one["id"] for one in page["items"]]  # type: ignore[attr-defined]
    assert ids == ["everything-else", "tickets-api", "tickets-search"]
    page = await done(await declared.get(f"/v1/routes:list?cursor={page['next']}"))
    assert [one["id"] for one in page["items"]] == ["v2"]  # type: ignore[attr-defined]
    page = await done(await declared.get("/v1/routes:list?life=draft"))
    assert [one["id"] for one in page["items"]] == ["v2"]  # type: ignore[attr-defined]


async def test_routes_are_listed_by_what_stands_in_them(declared: httpx.AsyncClient) -> None:
    found = await done(await declared.get("/v1/routes:list?contains=/API/"))
    assert [one["id"] for one in found["items"]] == ["tickets-api"]  # type: ignore[attr-defined]


async def test_delete_drops_a_draft_first_and_then_retires(declared: httpx.AsyncClient) -> None:
    await done(await declared.put("/v1/routes/tickets-api", json=ROUTE))
    lives = []
    for _ in range(3):
        content = await done(await declared.delete("/v1/routes/tickets-api"))
        lives.append(content["route"]["life"])  # type: ignore[index]
    assert lives == ["full", "retired", "new"]
    for call in (declared.delete, declared.get):
        answer = await call("/v1/routes/tickets-api")
        assert (answer.status_code, answer.json()["code"]) == (404, "route_not_found")


async def test_every_error_of_a_document_has_its_place(declared: httpx.AsyncClient) -> None:
    text = "service: tikets\npath: {value: a}\nid: other\n"
    answer = await declared.put("/v1/routes/v2", content=text)
    assert (answer.status_code, answer.json()["code"]) == (422, "fleet_invalid")
    found = [(one["line"], one["path"]) for one in answer.json()["errors"]]
    assert found == [(1, "service"), (2, "path.value"), (3, "id")]
    answer = await declared.put("/v1/routes/v2", content="routes:\n  - {service: tickets}\n")
    (fault,) = answer.json()["errors"]
    assert fault["message"] == (
        "the document is a list of routes; allowed: one route's own keys, without `routes:` and "
        "the list"
    )
    answer = await declared.put("/v1/routes/TICKETS-API", json=ROUTE)
    assert "looks like route tickets-api" in answer.json()["detail"]


async def test_two_routes_for_the_same_requests_are_refused(declared: httpx.AsyncClient) -> None:
    got = await done(await declared.get("/v1/routes/tickets-api"))
    same = {**got["published"], "id": "v2"}  # type: ignore[dict-item]
    await done(await declared.put("/v1/routes/v2", json=same))
    answer = await declared.post("/v1/routes/v2:publish")
    assert (answer.status_code, answer.json()["code"]) == (409, "route_duplicate")


async def test_conflicts_are_named_when_a_route_is_written(declared: httpx.AsyncClient) -> None:
    got = await done(await declared.get("/v1/routes/tickets-api"))
    first = {**got["published"], "id": "v2", "priority": 1}  # type: ignore[dict-item]
    content = await done(await declared.put("/v1/routes/v2", json=first))
    (conflict,) = content["conflicts"]  # type: ignore[misc]
    assert conflict["kind"] == "never_reached"
    assert conflict["message"] == ("route v2 takes every request of route tickets-api")


async def test_a_lost_update_is_a_failed_precondition(declared: httpx.AsyncClient) -> None:
    for method, path in (
        ("PUT", "/v1/routes/v2"),
        ("POST", "/v1/routes/tickets-api:retire"),
        ("DELETE", "/v1/routes/tickets-api"),
    ):
        body = ROUTE if method == "PUT" else None
        answer = await declared.request(method, path, json=body, headers={"If-Match": '"7"'})
        assert (answer.status_code, answer.json()["code"]) == (412, "fleet_changed")


async def test_what_was_read_is_changed_on_top_of_its_generation(
    house: House, declared: httpx.AsyncClient
) -> None:
    read = await declared.get("/v1/routes/tickets-api")
    same = await declared.get(
        "/v1/routes/tickets-api", headers={"If-None-Match": read.headers["etag"]}
    )
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", '"1"')
    condition = {"If-Match": read.headers["etag"]}
    first = await declared.put("/v1/routes/tickets-api", json=ROUTE, headers=condition)
    assert first.is_success
    second = await declared.put("/v1/routes/tickets-api", json=ROUTE, headers=condition)
    assert (second.status_code, second.json()["code"]) == (412, "fleet_changed")


async def test_a_gray_route_is_never_answered_from_a_tag(declared: httpx.AsyncClient) -> None:
    await done(await declared.put("/v1/routes/v2", json=ROUTE))
    wanted = {"by": "user", "steps": [{"share": 0.1}]}
    gray = await declared.post("/v1/routes/v2:gray", json=wanted)
    again = await declared.get("/v1/routes/v2", headers={"If-None-Match": gray.headers["etag"]})
    assert (again.status_code, again.headers["etag"]) == (200, gray.headers["etag"])


async def test_a_step_that_is_sent_twice_is_taken_once(declared: httpx.AsyncClient) -> None:
    await done(await declared.put("/v1/routes/v2", json=ROUTE))
    steps = [{"share": share} for share in (0.1, 0.2, 0.3)]
    await done(await declared.post("/v1/routes/v2:gray", json={"by": "user", "steps": steps}))
    key = {"Idempotency-Key": "step-1"}
    first, second = [await declared.post("/v1/routes/v2:step", headers=key) for _ in range(2)]
    assert first.json() == second.json()
    assert first.headers["etag"] == second.headers["etag"] == '"4"'
    assert (await declared.get("/v1/routes/v2")).json()["gray"]["step"] == 1


async def test_a_viewer_reads_and_changes_nothing(
    house: House, declared: httpx.AsyncClient
) -> None:
    async with house.client(AccessRole.VIEWER) as viewer:
        assert (await viewer.get("/v1/routes:list")).status_code == 200
        assert (await viewer.get("/v1/routes/tickets-api")).status_code == 200
        assert (await viewer.post("/v1/routes:match", json={"path": "/"})).status_code == 200
        for path in ("tickets-api:retire", "tickets-api:rollback", "tickets-api:publish"):
            assert (await viewer.post(f"/v1/routes/{path}")).status_code == 403
        assert (await viewer.put("/v1/routes/v2", json=ROUTE)).status_code == 403


async def match(client: httpx.AsyncClient, **request: object) -> dict[str, object]:
    return await done(await client.post("/v1/routes:match", json=request))


async def test_a_match_says_who_wins_and_who_is_next(
    house: House, declared: httpx.AsyncClient
) -> None:
    found = await match(declared, path="/api//tickets/%61?q=1")
    assert (found["path"], found["status"]) == ("/api/tickets/a", None)
    assert found["reason"] == "its prefix is the longest whose conditions hold"
    assert found["next"] == "everything-else"
    assert found["document"]["id"] == found["route"]  # type: ignore[index]
    (loser,) = found["losers"]  # type: ignore[misc]
    assert loser["why"] == "it matches, and comes later"
    refused = await match(declared, path="/a%2fb")
    assert (refused["status"], refused["route"]) == (400, None)
    only_get = {**ROUTE, "methods": ["GET"], "path": {"value": "/"}}
    await done(await declared.put("/v1/routes/v2", json=only_get))
    assert (await match(declared, path="/x", draft="v2"))["route"] == "v2"
    assert (await match(declared, path="/x", draft="v2", method="PUT"))["route"] != "v2"
    assert (await match(declared, path="/x"))["route"] == "everything-else"
    answer = await declared.post("/v1/routes:match", json={"path": "/", "gateway": "nowhere"})
    assert (answer.status_code, answer.json()["code"]) == (404, "gateway_group_not_found")
    answer = await declared.post("/v1/routes:match", json={"path": "/", "source": "300.1.1.1"})
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "body.source")
    assert (await match(declared, path="/x", source="10.0.0.1"))["route"] == "everything-else"
    answer = await declared.post("/v1/routes:match", json={"path": "/", "draft": "none"})
    assert answer.json()["code"] == "draft_not_found"


async def test_before_the_first_snapshot_nothing_matches(admin: httpx.AsyncClient) -> None:
    answer = await admin.post("/v1/routes:match", json={"path": "/"})
    assert (answer.status_code, answer.json()["code"]) == (503, "no_snapshot")


async def test_what_a_check_holds_is_named_in_the_answer(declared: httpx.AsyncClient) -> None:
    got = (await declared.get("/v1/fleet")).json()
    got["routes"][1]["checks"] = [{"path": "/nothing/of/the/kind", "status": 404}]
    content = await done(await declared.put("/v1/fleet", json=got))
    (held,) = content["held"]  # type: ignore[misc]
    assert held["route"] == got["routes"][1]["id"]
    assert "must get status 404, and gets route everything-else" in held["reason"]


async def test_a_body_that_is_not_declared_as_json_says_what_to_send(
    declared: httpx.AsyncClient,
) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await declared.post("/v1/routes:match", content='{"path": "/"}', headers=form)
    assert answer.status_code == 422
    assert "send Content-Type: application/json" in answer.json()["detail"]
    answer = await declared.post(
        "/v1/routes:match", content="[]", headers={"Content-Type": "application/json"}
    )
    assert "Content-Type" not in answer.json()["detail"]

"""Routes come from and go to files of other formats, through the API."""

import httpx
import pytest

from tests.api.house import House
from tests.api.test_fleet import EXAMPLE

API = """openapi: 3.0.3
info: {title: Orders, version: "1"}
servers: [{url: https://shop.example/v1}]
paths:
  /orders:
    get: {tags: [tickets]}
    post: {tags: [tickets]}
  /orders/{order}:
    get: {tags: [tickets]}
  /broken//path:
    get: {tags: [tickets]}
"""


@pytest.fixture
async def declared(admin: httpx.AsyncClient) -> httpx.AsyncClient:
    assert (await admin.put("/v1/fleet", content=EXAMPLE)).is_success
    return admin


async def test_good_items_are_imported_and_a_bad_one_is_a_finding_with_its_place(
    house: House, declared: httpx.AsyncClient
) -> None:
    answer = await declared.post("/v1/routes:import?format=openapi&reason=orders", content=API)
    content = answer.json()
    assert answer.status_code == 200
    assert (content["imported"], content["finding_count"]) == (2, 1)
    (finding,) = content["findings"]
    assert (finding["line"], finding["column"]) == (10, 3)
    assert "'/v1/broken//path'" in finding["found"]
    assert answer.headers["etag"] == '"2"'
    routes = {route.id: route for route in house.fleets.current.fleet.routes}
    assert routes["tickets.v1.orders"].methods == ("GET", "POST")
    assert routes["tickets.v1.orders._order"].hosts == ("shop.example",)
    assert house.audit.entries[-1].reason == "orders"


async def test_a_dry_run_changes_nothing(house: House, declared: httpx.AsyncClient) -> None:
    answer = await declared.post("/v1/routes:import?format=openapi&dry_run=true", content=API)
    content = answer.json()
    assert (content["dry_run"], content["imported"], content["generation"]) == (True, 2, 2)
    assert house.fleets.current.generation == 1
    assert {line["subject"] for line in content["changes"]} == {
        "route/tickets.v1.orders",
        "route/tickets.v1.orders._order",
    }


async def test_a_whitelist_is_declared_for_the_hosts_of_the_file(
    house: House, declared: httpx.AsyncClient
) -> None:
    params = {"format": "openapi", "whitelist": "true", "channel": "X-Channel=mini program"}
    params["collection"] = "mini"
    content = (await declared.post("/v1/routes:import", params=params, content=API)).json()
    assert content["whitelists"] == ["mini"]
    (whitelist,) = house.fleets.current.fleet.whitelists
    assert whitelist.hosts == ("shop.example",)
    (condition,) = whitelist.channel
    assert (condition.name, condition.value) == ("x-channel", "mini program")
    routes = [r for r in house.fleets.current.fleet.routes if r.id.startswith("mini.v1")]
    assert len(routes) == 2
    assert all(route.conditions == (condition,) for route in routes)


async def test_a_collection_replaces_itself_and_nothing_else(
    house: House, declared: httpx.AsyncClient
) -> None:
    async def imported(text: str) -> httpx.Response:
        params = {"format": "csv", "collection": "shop", "service": "tickets", "force": "true"}
        return await declared.post("/v1/routes:import", params=params, content=text)

    await imported("id,path\na,/a\nb,/b\n")
    content = (await imported("id,path\nb,/b2\ntickets-api,/c\n")).json()
    assert [finding["line"] for finding in content["findings"]] == [3]
    assert "not imported with this collection" in content["findings"][0]["found"]
    names = {route.id for route in house.fleets.current.fleet.routes}
    assert names == {"b", "everything-else", "tickets-api", "tickets-search"}


async def test_ids_of_one_file_that_look_like_others_are_findings(
    declared: httpx.AsyncClient,
) -> None:
    text = "id,path\nticketS-api,/a\na1,/b\nal,/c\na1,/d\n"
    params = {"format": "csv", "service": "tickets"}
    content = (await declared.post("/v1/routes:import", params=params, content=text)).json()
    assert [(f["line"], f["found"].split(",")[0]) for f in content["findings"]] == [
        (2, "the id ticketS-api"),
        (4, "the id al"),
        (5, "the id a1 again"),
    ]
    assert content["imported"] == 1


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"service": "tickts"}, "a declared service: tickets"),
        ({"host": "Shop.example"}, "host is 'Shop.example'"),
        ({"gateway": "outer"}, "a declared group: edge"),
        ({"collection": "a b"}, "collection is 'a b'"),
        ({"channel": "x-a=1", "collection": "a"}, "beside whitelist and collection only"),
        ({"channel": "x-a=1", "whitelist": "true"}, "beside whitelist and collection only"),
        ({"whitelist": "true", "channel": "x-a"}, "HEADER=VALUE"),
    ],
)
async def test_what_cannot_be_asked_is_said(
    declared: httpx.AsyncClient, params: dict[str, str], words: str
) -> None:
    answer = await declared.post(
        "/v1/routes:import", params={"format": "openapi", **params}, content=API
    )
    assert (answer.status_code, answer.json()["code"]) == (422, "route_import_invalid")
    assert words in answer.json()["detail"]


@pytest.mark.parametrize(
    ("form", "text", "words"),
    [
        ("openapi", "a: [", "line 2, column 1"),
        ("openapi", "a: 1", "neither `openapi: 3...`"),
        ("httproute", "a: 1", "no Kubernetes resource"),
        ("csv", "service\nx\n", "no column `path`"),
        ("csv", 'path\n"a', "quotation mark"),
        ("csv", "path,method\n/a,GET\n", "column 6: the column 'method'"),
    ],
)
async def test_a_file_that_is_none_is_refused_whole(
    declared: httpx.AsyncClient, form: str, text: str, words: str
) -> None:
    answer = await declared.post(f"/v1/routes:import?format={form}", content=text)
    assert (answer.status_code, answer.json()["code"]) == (422, "route_file_unreadable")
    assert words in answer.json()["detail"]


async def test_bytes_that_are_no_text_are_refused(declared: httpx.AsyncClient) -> None:
    answer = await declared.post("/v1/routes:import?format=csv", content=b"path\n\xff")
    assert answer.json()["code"] == "route_file_unreadable"


async def test_a_generation_that_is_another_by_now_is_refused(
    declared: httpx.AsyncClient,
) -> None:
    answer = await declared.post(
        "/v1/routes:import?format=openapi", content=API, headers={"If-Match": '"7"'}
    )
    assert (answer.status_code, answer.json()["code"]) == (412, "fleet_changed")


@pytest.mark.parametrize("form", ["csv", "httproute"])
async def test_what_is_exported_can_be_imported_and_changes_nothing(
    declared: httpx.AsyncClient, form: str
) -> None:
    told = (await declared.get(f"/v1/routes:export?format={form}")).json()
    assert told["notes"] == []
    answer = await declared.post(f"/v1/routes:import?format={form}", content=told["document"])
    assert (answer.json()["changes"], answer.json()["findings"]) == ([], [])
    assert answer.json()["imported"] == 3


async def test_the_bare_file_comes_when_its_type_is_asked_for(
    declared: httpx.AsyncClient,
) -> None:
    headers = {"Accept": "text/csv"}
    answer = await declared.get("/v1/routes:export?format=csv", headers=headers)
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.text.startswith("id,hosts,match,path,")
    assert len(answer.text.splitlines()) == 4


async def test_an_export_says_what_it_leaves_out(declared: httpx.AsyncClient) -> None:
    params = {"format": "openapi", "whitelist": "true"}
    await declared.post("/v1/routes:import", params=params, content=API)
    told = (await declared.get("/v1/routes:export?format=openapi&host=shop.example")).json()
    assert "/v1/orders/{order}" in told["document"]
    (note,) = told["notes"]
    assert (note["subject"], note["left_out"]) == ("whitelist/shop.example", True)


async def test_of_a_file_with_a_thousand_faults_nothing_is_imported(
    declared: httpx.AsyncClient,
) -> None:
    for text in ("path,service\n/a,tickets\n" + "/b,x\n" * 2_000, "path\n" + "/a\n" * 2_000):
        params = {"format": "csv", "service": "tickets"}
        answer = await declared.post("/v1/routes:import", params=params, content=text)
        assert (answer.status_code, answer.json()["code"]) == (422, "route_file_unreadable")
        assert "1000 faults or more" in answer.json()["detail"]
        assert len(answer.json()["errors"]) == 100


async def test_a_route_that_no_request_could_tell_from_another_is_a_finding(
    declared: httpx.AsyncClient,
) -> None:
    text = "id,path,priority\na,/a,\nb,/a,\nc,/a,1\nd,/tickets/search,\n"
    params = {"format": "csv", "service": "tickets"}
    content = (await declared.post("/v1/routes:import", params=params, content=text)).json()
    assert [(f["line"], f["found"]) for f in content["findings"]] == [
        (3, "host * Exact /a, as route a has it")
    ]
    assert content["imported"] == 3
    again = (await declared.post("/v1/routes:import", params=params, content=text)).json()
    assert again["changes"] == []


async def test_expressions_that_may_match_too_much_are_findings(
    declared: httpx.AsyncClient,
) -> None:
    rows = [f"/p{number},Exact,h.example,GET" for number in range(1_000)]
    rows += [f"/[a-z]{number},RegularExpression,h.example," for number in range(60)]
    text = "path,match,hosts,methods\n" + "\n".join(rows) + "\n"
    params = {"format": "csv", "service": "tickets"}
    content = (await declared.post("/v1/routes:import", params=params, content=text)).json()
    assert (content["imported"], content["finding_count"]) == (1_000, 60)
    assert "too many rules on h.example" in content["findings"][0]["found"]


async def test_a_route_whose_own_check_fails_is_held_and_the_others_come(
    house: House, declared: httpx.AsyncClient
) -> None:
    more = '"{""checks"": [{""path"": ""/other""}]}"'
    text = f"id,path,more\na,/a,{more}\nb,/b,\n"
    params = {"format": "csv", "service": "tickets"}
    content = (await declared.post("/v1/routes:import", params=params, content=text)).json()
    assert [one["route"] for one in content["held"]] == ["a"]
    assert content["imported"] == 1
    assert "b" in {route.id for route in house.fleets.current.fleet.routes}


async def test_conflicts_of_imported_routes_are_told_and_no_others(
    declared: httpx.AsyncClient,
) -> None:
    text = "id,path,match,hosts\nwide,/a,Exact,*.example\nnarrow,/b,Exact,a.example\n"
    params = {"format": "csv", "service": "tickets"}
    content = (await declared.post("/v1/routes:import", params=params, content=text)).json()
    told = {(one["kind"], one["route"], one["host"]) for one in content["conflicts"]}
    assert ("other_host", "wide", "a.example") in told
    assert all({one["route"], one["other"]} & {"wide", "narrow"} for one in content["conflicts"])


async def test_the_whitelist_of_a_channel_does_not_open_that_of_the_host(
    declared: httpx.AsyncClient,
) -> None:
    params = {"format": "openapi", "whitelist": "true", "collection": "all"}
    await declared.post("/v1/routes:import", params=params, content=API)
    params |= {"collection": "mini", "channel": "x-channel=mini"}
    content = (await declared.post("/v1/routes:import", params=params, content=API)).json()
    assert (content["whitelists"], content["imported"]) == (["mini"], 2)
    assert "open_whitelist" not in {one["kind"] for one in content["conflicts"]}


async def test_where_nothing_was_imported_no_whitelist_refuses_everything(
    declared: httpx.AsyncClient,
) -> None:
    text = "path,hosts,service\n/a,a.example,tickets\n/b,b.example,unknown\n"
    params = {"format": "csv", "whitelist": "true"}
    content = (await declared.post("/v1/routes:import", params=params, content=text)).json()
    assert (content["imported"], content["whitelists"]) == (1, ["a.example"])
    bad = text.replace("tickets", "nobody")
    content = (await declared.post("/v1/routes:import", params=params, content=bad)).json()
    assert (content["imported"], content["whitelists"], content["changes"]) == (0, [], [])

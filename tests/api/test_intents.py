"""/v1/intents: bodies, tags, pages, and what is answered to two at once."""

import httpx

from tests.api.house import House

FAILOVER = {"kind": "failover", "target": {"datacenter": "beijing-1"}, "reason": "night"}


async def test_made_listed_and_undone(house: House, admin: httpx.AsyncClient) -> None:
    await house.declare()
    made = await admin.post("/v1/intents", json=FAILOVER)
    assert made.status_code == 201
    body = made.json()
    assert made.headers["location"] == f"/v1/intents/{body['id']}"
    assert made.headers["etag"] == '"1"'
    (progress,) = body["progress"]
    assert (progress["plane"], progress["nodes"], progress["done"]) == ("envoy", 2, 0)
    listed = await admin.get("/v1/intents", params={"standing": "true"})
    assert [one["id"] for one in listed.json()["items"]] == [body["id"]]
    undone = await admin.post(f"/v1/intents/{body['id']}:undo", json={"return_s": 0})
    assert undone.json()["state"] == "returning"
    assert (await admin.post(f"/v1/intents/{body['id']}:undo")).status_code == 409
    text = (await admin.get("/metrics")).text
    assert 'signalbox_intents{kind="failover",state="returning"} 1.0' in text
    assert 'signalbox_intents_made_total{kind="failover"} 1.0' in text


async def test_pages(house: House, admin: httpx.AsyncClient) -> None:
    await house.declare()
    await admin.post("/v1/intents", json=FAILOVER)
    await admin.post("/v1/intents", json={"kind": "freeze"})
    first = (await admin.get("/v1/intents", params={"limit": 1})).json()
    assert [one["kind"] for one in first["items"]] == ["freeze"]
    second = await admin.get("/v1/intents", params={"limit": 1, "cursor": first["next"]})
    assert [one["kind"] for one in second.json()["items"]] == ["failover"]
    both = {"standing": "true", "cursor": first["next"]}
    assert len((await admin.get("/v1/intents", params=both)).json()["items"]) == 1


async def test_of_two_who_saw_the_same_one_is_told_what_changed(
    house: House, admin: httpx.AsyncClient
) -> None:
    await house.declare()
    seen = (await admin.get("/v1/intents")).headers["etag"]
    headers = {"if-match": seen}
    assert (await admin.post("/v1/intents", json=FAILOVER, headers=headers)).status_code == 201
    late = await admin.post("/v1/intents", json={"kind": "freeze"}, headers=headers)
    assert late.status_code == 412
    (changed,) = late.json()["details"]["changed"]
    assert (changed["id"], changed["author"], changed["reason"]) == (
        "failover-1",
        "the-admin",
        "night",
    )
    strange = await admin.post("/v1/intents", json=FAILOVER, headers={"if-match": '"x"'})
    assert strange.json()["code"] == "if_match_invalid"


async def test_the_same_key_makes_one(house: House, admin: httpx.AsyncClient) -> None:
    await house.declare()
    headers = {"idempotency-key": "k1"}
    first = await admin.post("/v1/intents", json=FAILOVER, headers=headers)
    again = await admin.post("/v1/intents", json=FAILOVER, headers=headers)
    assert again.json()["id"] == first.json()["id"]
    assert len((await admin.get("/v1/intents")).json()["items"]) == 1


async def test_a_dry_run_changes_nothing(house: House, admin: httpx.AsyncClient) -> None:
    await house.declare()
    told = (await admin.post("/v1/intents:dryRun", json=FAILOVER)).json()
    assert told["objection"] is None
    (move,) = told["moves"]
    assert move["after"] == {"beijing-1": 0.0, "beijing-2": 1.0}
    assert move["sessions"] is None
    assert {one["after"] for one in told["pools"] if one["datacenter"] == "beijing-2"} == {None}
    assert (await admin.get("/v1/intents")).json()["items"] == []


async def test_a_failover_is_made_while_the_store_is_away(
    house: House, admin: httpx.AsyncClient
) -> None:
    await house.declare()
    # A token that was used is known without the store.
    await admin.get("/v1/intents")
    house.outage.away = True
    assert (await admin.post("/v1/intents", json=FAILOVER)).status_code == 201
    assert (await admin.post("/v1/intents", json={"kind": "freeze"})).status_code == 503
    assert "signalbox_intents_unsaved 1.0" in (await admin.get("/metrics")).text

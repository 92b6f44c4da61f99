"""/v1/jobs and POST /v1/services/{name}:train."""

import asyncio

import httpx

from controlplane.domain.access import AccessRole
from tests.api.house import House


async def test_a_training_is_accepted_shown_and_ends_with_a_model(
    house: House, admin: httpx.AsyncClient
) -> None:
    await house.declare()
    accepted = await admin.post("/v1/services/tickets:train", json={"reason": "try"})
    assert accepted.status_code == 202
    job = accepted.json()
    assert (job["state"], job["trigger"], job["author"]) == ("queued", "manual", "the-admin")
    at = accepted.headers["Location"]
    assert at == f"/v1/jobs/{job['id']}"
    refused = await admin.post("/v1/services/tickets:train", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "job_open")
    assert refused.json()["details"] == {"job": job["id"]}

    task = asyncio.create_task(house.jobs.run())
    async with asyncio.timeout(5):
        while (running := (await admin.get(at)).json())["progress"] < 0.5:
            await asyncio.sleep(0.01)
    assert (running["state"], running["message"]) == ("running", "halfway")
    metrics = (await admin.get("/metrics")).text
    assert 'signalbox_jobs_open{state="running"} 1.0' in metrics
    house.trainer.go.set()
    async with asyncio.timeout(5):
        while (done := (await admin.get(at)).json())["state"] == "running":
            await asyncio.sleep(0.01)
    task.cancel()
    assert (done["state"], done["progress"], done["error"]) == ("succeeded", 1.0, "")
    (model,) = (await admin.get("/v1/models?service=tickets")).json()["items"]
    assert model["digest"] == done["result"]
    assert (await admin.get("/v1/jobs?service=tickets")).json()["items"] == [done]
    assert (await admin.get("/v1/jobs?service=other")).json()["items"] == []
    metrics = (await admin.get("/metrics")).text
    assert 'signalbox_jobs_ended_total{state="succeeded"} 1.0' in metrics


async def test_a_job_is_cancelled_once(house: House, admin: httpx.AsyncClient) -> None:
    await house.declare()
    job = (await admin.post("/v1/services/tickets:train", json={})).json()
    at = f"/v1/jobs/{job['id']}:cancel"
    async with house.client(AccessRole.OPERATOR) as operator:
        assert (await operator.post(at, json={})).status_code == 403
    ended = (await admin.post(at, json={"reason": "not now"})).json()
    assert (ended["state"], ended["message"]) == ("cancelled", "cancelled by the-admin: not now")
    again = await admin.post(at, json={})
    assert (again.status_code, again.json()["code"]) == (409, "job_state")


async def test_what_is_not_there(house: House, admin: httpx.AsyncClient) -> None:
    await house.declare()
    assert (await admin.get("/v1/jobs/nothing")).json()["code"] == "job_not_found"
    assert (await admin.post("/v1/services/nothing:train", json={})).status_code == 404

"""A regional service on the command line: its weights, its decision by region, its shares."""

import json

from tests.cli.conftest import Run, Server
from tests.domain.three_regions import sample
from tests.engine.regional_site import regional_fleet


def test_a_regional_service_shows_a_split_for_each_region(server: Server, run: Run) -> None:
    house = server.house
    server.do(house.declare(regional_fleet()))
    now_s = house.clock.time_s
    hot = [sample("dc-north", now_s, 95.0, 0.95), sample("dc-south", now_s, 40.0, 0.4)]
    server.do(house.intake.accept(hot))
    server.do(house.tick())
    rows = [
        (one["source_region"], one["weights"])
        for one in json.loads(run("weights", "--json").out)["weights"]
    ]
    assert [region for region, _ in rows] == ["*", "north", "south"]
    assert rows[1][1] == {"dc-north": 8_500, "dc-south": 1_500}
    (decision,) = json.loads(run("decisions", "list", "--json").out)
    shown = run("decisions", "show", decision["id"])
    assert "SOURCE REGION" in shown.out
    assert "dc-north=0.850 dc-south=0.150" in shown.out
    whole = json.loads(run("decisions", "show", decision["id"], "--json").out)
    assert [one["source_region"] for one in whole["regions"]] == ["north", "south", "*"]
    told = run("decisions", "explain", decision["id"])
    assert "home is 1.000/0.000: it goes from 1.000/0.000 to 0.850/0.150" in told.out
    # In all data centres together, as the service stands there now.
    (service,) = json.loads(run("status", "--json").out)["services"]
    shares = {one["name"]: one["share"] for one in service["datacenters"]}
    assert shares == decision["decided"]

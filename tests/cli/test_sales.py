"""The commands about flash sales."""

import json
from dataclasses import replace

from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from controlplane.domain.admission.policy import Policy
from tests import builders
from tests.cli.conftest import Run, Server


def test_sales_are_listed_and_corrections_proposed(run: Run, server: Server) -> None:
    now_s = server.house.clock.now()
    sale = FlashSalePolicy(
        item="phone-9",
        stock=10,
        opens_at_s=now_s + 100,
        ends_at_s=now_s + 1_000,
        orders_url="http://shop.example/orders",
    )
    policies = (Policy(name="phones", flash_sale=sale),)
    server.do(server.house.declare(replace(builders.fleet(), policies=policies)))
    listed = run("sales", "list").out.splitlines()
    assert listed[1].split()[:4] == ["phones", "phone-9", "10", "scheduled"]
    assert json.loads(run("sales", "list", "--json").out)[0]["frozen"] is True
    made = run("sales", "correct", "phones", "--set", "stock=9", "--reason", "broken")
    assert json.loads(made.out)["fields"] == {"stock": "9"}
    assert "signalbox sales approve phones-1" in made.err
    shown = run("sales", "corrections", "phones").out.splitlines()
    assert "stock=9" in shown[1]
    assert json.loads(run("sales", "corrections", "phones", "--json").out)[0]["id"] == "phones-1"
    own = run("sales", "approve", "phones-1")
    assert own.code == 5
    assert "correction_unreviewed" in own.err

"""The console's page of routes: the table, one route, and which route a request gets."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, Console, fleet

ROUTE = {
    "service": "tickets",
    "hosts": ["shop.example"],
    "path": {"type": "PathTemplate", "value": "/users/{user}/orders"},
    "conditions": [{"name": "x-channel", "value": "mini"}],
}


def declare(console: Console) -> None:
    """A fleet without routes, whatever the test before has left."""
    console.serve.api("PUT", "/v1/fleet?reason=browser&force=true", json=fleet(0.5))


def write(console: Console, route_id: str, route: dict[str, object], query: str = "") -> None:
    console.serve.api("PUT", f"/v1/routes/{route_id}{query}", json=route)


def test_a_request_is_explained_with_and_without_a_draft(console: Console) -> None:
    declare(console)
    write(console, "everything", {"service": "tickets", "hosts": ["shop.example"]}, "?publish=true")
    write(console, "orders", ROUTE, "?publish=true")
    write(console, "late", {**ROUTE, "path": {"value": "/late"}})
    console.open()
    page = console.page
    page.get_by_role("link", name="Routes").press("Enter")
    page.get_by_label("URL or path").fill("https://shop.example/users//7/orders?page=2")
    page.get_by_label("Headers, one a line").fill("x-channel: mini")
    page.get_by_role("button", name="Explain").click()
    got = page.locator("#got")
    expect(got).to_contain_text("orders")
    for words in (
        "its path fits the route's template",
        "/users/7/orders",
        "user = 7",
        "everything",
    ):
        expect(got).to_contain_text(words)
    page.get_by_label("Headers, one a line").fill("")
    page.get_by_role("button", name="Explain").press("Enter")
    expect(page.locator("#losers tr", has_text="orders")).to_contain_text(
        "header x-channel is mini"
    )
    page.get_by_label("URL or path").fill("https://shop.example/late")
    page.get_by_label("Headers, one a line").fill("x-channel: mini")
    page.get_by_label("With the draft of").fill("late")
    page.keyboard.press("Enter")
    expect(got.locator("dd").first).to_have_text("late")


def test_the_table_shows_lives_gray_parts_and_findings(console: Console) -> None:
    declare(console)
    write(console, "orders", {"service": "tickets", "path": {"value": "/orders"}}, "?publish=true")
    write(console, "orders", {"service": "search", "path": {"value": "/orders"}})
    gray = {"by": "user", "steps": [{"share": 0.05, "hold_s": 0}, {"share": 0.2}]}
    console.serve.api("POST", "/v1/routes/orders:gray", json=gray)
    document = console.serve.api("GET", "/v1/fleet").json()
    document["routes"].append(
        {"id": "gone", "path": {"value": "/gone"}, "response": {"status": 410}}
    )
    console.serve.api("PUT", "/v1/fleet?reason=browser", json=document)
    console.open()
    page = console.page
    page.get_by_role("link", name="Routes").click()
    row = page.locator("#routes tr", has_text="orders")
    expect(row).to_contain_text("gray")
    # Nobody reports metrics, so the next step has to wait.
    expect(row).to_contain_text("5.0 % (1/2) hold")
    expect(row).to_contain_text("gray_held")
    expect(page.locator("#routes tr", has_text="gone")).to_contain_text("answer 410")
    page.get_by_label("With this in id, host, path or service").fill("ORDERS")
    expect(page.locator("#routes tr")).to_have_count(1)
    expect(page.locator("#route-count")).to_have_text("1")
    page.get_by_role("button", name="orders", exact=True).click()
    expect(page.locator("#one-route")).to_be_focused()
    expect(page.locator("#one-route-forms")).to_contain_text('"search"')
    page.get_by_label("Life").select_option("retired")
    expect(page.locator("#no-routes")).to_contain_text("signalbox routes write")


@pytest.mark.parametrize("console", [PHONE], indirect=True)
def test_routes_on_a_phone_in_chinese_page_by_page(console: Console) -> None:
    declare(console)
    document = console.serve.api("GET", "/v1/fleet").json()
    document["routes"] = [
        {"id": f"r{n:03}", "service": "tickets", "path": {"value": f"/a/{n}"}} for n in range(210)
    ]
    console.serve.api("PUT", "/v1/fleet?reason=browser&force=true", json=document)
    page = console.page
    page.goto(f"{console.serve.url}/console/#routes")
    console.enter(console.serve.token)
    page.get_by_role("button", name="中文").click()
    expect(page.locator("#routes-title")).to_have_text("路由")
    # Drafts of other tests stay where they are.
    page.locator("#route-filter").fill("/a/")
    expect(page.locator("#routes tr")).to_have_count(200)
    page.get_by_role("button", name="更多").click()
    expect(page.locator("#routes tr")).to_have_count(210)
    expect(page.locator("#routes tr").first).to_contain_text("全量")
    page.locator("#ask-url").fill("/a/7/x")
    page.get_by_role("button", name="解释").click()
    expect(page.locator("#got")).to_contain_text("r007")
    console.until_it_fits()

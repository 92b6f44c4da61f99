"""The console's page of policies: the table, one policy, and what they say of a request."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, Console, fleet


def declare(console: Console) -> None:
    document = fleet(0.5)
    document["policies"] = [
        {"name": "edge", "protection": {"blocked_sources": ["192.0.2.0/24"]}},
        {"name": "try", "mode": "observe", "services": ["gone"], "protection": {}},
    ]
    console.serve.api("PUT", "/v1/fleet?reason=browser&force=true", json=document)


def test_policies_are_shown_with_what_is_wrong_and_tried(console: Console) -> None:
    declare(console)
    console.open()
    page = console.page
    page.get_by_role("link", name="Policies").press("Enter")
    expect(page.locator("#policies tr", has_text="edge")).to_contain_text("enforced")
    row = page.locator("#policies tr", has_text="try")
    for words in ("observing", "services: gone", "policy_reference_unknown"):
        expect(row).to_contain_text(words)
    page.get_by_role("button", name="edge", exact=True).click()
    expect(page.locator("#one-policy")).to_be_focused()
    expect(page.locator("#one-policy-document")).to_contain_text("192.0.2.0/24")
    page.get_by_label("Address to ask for").fill("/cart")
    page.get_by_label("Caller").fill("192.0.2.9")
    page.get_by_role("button", name="Try", exact=True).press("Enter")
    expect(page.locator("#verdict")).to_contain_text("source_blocked")
    expect(page.locator("#said tr", has_text="edge")).to_contain_text("decides")


@pytest.mark.parametrize("console", [PHONE], indirect=True)
def test_policies_on_a_phone_in_chinese(console: Console) -> None:
    declare(console)
    page = console.page
    page.goto(f"{console.serve.url}/console/#policies")
    console.enter(console.serve.token)
    page.get_by_role("button", name="中文").click()
    expect(page.locator("#policies-title")).to_have_text("策略")
    expect(page.locator("#policies tr", has_text="edge")).to_contain_text("强制执行")
    console.until_it_fits()

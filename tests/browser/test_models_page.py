"""The console's page of models: reports, comparison, promotion and the way back."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, Console


def test_models_are_compared_promoted_and_rolled_back(console: Console) -> None:
    console.serve.declare(0.5)
    first, second = console.serve.register_versions()
    champion = {"service": "tickets", "reason": "browser"}
    console.serve.api("POST", f"/v1/models/{second}:promote", json=champion)
    console.open()
    page = console.page
    page.get_by_role("link", name="Models").press("Enter")
    page.get_by_label("Models of").select_option("search")
    expect(page.locator("#no-models")).to_contain_text("signalbox models train")
    page.get_by_label("Models of").select_option("tickets")
    expect(page.locator("#versions tr", has_text=second[:12])).to_have_count(1)
    page.get_by_role("button", name=f"Report {first[:12]}").click()
    expect(page.locator("#model-report")).to_be_focused()
    expect(page.locator("#model-report .identity")).to_contain_text(first[:12])
    expect(page.locator("#model-report .chart .main-svg").first).to_be_visible()
    charts = page.locator("#model-report .chart").count()
    # Two load bands, four of accuracy, two of coverage, one law, one loss.
    assert charts == 10
    page.get_by_label("Strategy", exact=True).select_option("paper_mlp")
    expect(page.locator("#model-report .legendtext", has_text="paper_mlp").first).to_be_visible()
    page.get_by_label("Compare with").select_option(second)
    expect(page.locator("#model-report .identity")).to_have_count(2)
    expect(page.get_by_role("heading", name="What differs")).to_be_visible()
    page.get_by_label("Reason for the log").fill("better by night")
    page.get_by_role("button", name=f"Promote {first[:12]}").press("Enter")
    newest = page.locator("#promotions tr").first
    expect(newest).to_contain_text("better by night")
    expect(page.locator("#versions tr[aria-current]")).to_contain_text("champion")
    page.get_by_role("button", name="Roll back").click()
    expect(newest).to_contain_text("rolled-back")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as a page").click()
    assert "SignalboxReport.show" in saved.value.path().read_text(encoding="utf-8")


@pytest.mark.parametrize("console", [PHONE], indirect=True)
def test_models_on_a_phone_in_chinese_without_the_right_to_promote(console: Console) -> None:
    console.serve.declare(0.5)
    first, _ = console.serve.register_versions()
    wanted = {"name": "reader", "role": "viewer", "reason": "browser"}
    secret = console.serve.api("POST", "/v1/tokens", json=wanted).json()["secret"]
    page = console.page
    page.goto(f"{console.serve.url}/console/#models")
    console.enter(secret)
    page.get_by_role("button", name="中文").click()
    page.locator("#model-service").select_option("tickets")
    expect(page.locator("#versions-title")).to_have_text("版本")
    page.get_by_role("button", name=f"报告 {first[:12]}").click()
    expect(page.locator("#model-report h2", has_text="响应时间与比例")).to_be_visible()
    expect(page.locator("#moving")).to_be_hidden()
    expect(page.get_by_role("button", name=re.compile("提升"))).to_have_count(0)
    console.until_it_fits()

"""The console in a real browser, against a real `signalbox serve`."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, Console, wait_for


def test_a_wrong_token_is_told_and_can_be_corrected(console: Console) -> None:
    console.page.goto(f"{console.serve.url}/console/")
    console.enter("sbx_wrong")
    expect(console.page.locator("#login-problem")).to_contain_text("token")
    expect(console.page.locator("#main")).to_be_hidden()
    expect(console.page.get_by_label("Token")).to_be_focused()
    console.enter(console.serve.token)
    expect(console.page.locator("#main")).to_be_visible()
    expect(console.page.locator("#login-problem")).to_be_hidden()


def test_before_a_fleet_the_page_says_what_to_do(console: Console) -> None:
    console.open()
    expect(console.page.locator("#weights")).to_contain_text("signalbox apply")
    expect(console.page.locator("#gateways")).to_contain_text("No gateway")


def test_the_stream_brings_new_weights(console: Console) -> None:
    console.serve.declare(0.5)
    console.open()
    share = console.page.locator(console.share("search", "east"))
    expect(share).to_have_text("50.0 %")
    # Without the regular refresh, only the stream can bring it.
    console.page.evaluate("for (let id = 1; id < 100; id++) clearInterval(id)")
    console.serve.declare(0.6)
    expect(share).not_to_have_text("50.0 %")


def test_the_curve_of_the_last_decision_is_drawn(console: Console) -> None:
    console.serve.learn()
    wait_for(console.serve.has_curve, console.serve.log)
    console.open()
    page = console.page
    page.get_by_label("Service", exact=True).select_option("tickets")
    expect(page.locator("#curve-words")).to_contain_text("greybox")
    expect(page.locator("#rung")).to_contain_text("decided by: the model")
    expect(page.locator("#curve-words")).to_contain_text("90 % of the time")
    for word in ("predicted", "before", "proposed", "decided", "90 % interval"):
        expect(page.locator("#curve-chart .legendtext", has_text=word)).to_be_visible()
    path = page.locator("#curve-chart .scatterlayer .js-line").first.get_attribute("d")
    assert path is not None
    assert path.count(",") > 20
    # From nothing to what matters, however steep the curve is elsewhere.
    low, top = page.evaluate("document.getElementById('curve-chart').layout.yaxis.range")
    markers = "document.getElementById('curve-chart').data.filter((one) => one.mode === 'markers')"
    marks = page.evaluate(f"{markers}.flatMap((one) => one.y)")
    assert (low, top) == (0, 3 * max(marks))
    expect(page.locator("#time-chart .scatterlayer .js-line")).to_have_count(2)
    page.get_by_text("Why: step by step").click()
    expect(page.locator("#steps")).to_contain_text("greybox")
    expect(page.locator("#steps")).to_contain_text("let it pass")


def test_more_than_two_centers_have_a_curve_each(console: Console) -> None:
    console.serve.declare(0.5)
    with console.serve.sending_samples():
        console.open()
        page = console.page
        page.get_by_label("Service", exact=True).select_option("video")
        for name in ("east", "south", "west"):
            expect(page.locator("#curve-chart .legendtext", has_text=name)).to_be_visible()
        expect(page.locator("#curve-chart .scatterlayer .js-line")).to_have_count(3)


def test_what_is_wrong_appears_and_clears_by_itself(console: Console) -> None:
    console.open()
    page = console.page
    item = page.locator("#findings li", has_text="service/tickets datacenter/east")
    console.serve.send_samples()
    expect(item).to_contain_text("metrics_stopped")
    expect(item).to_contain_text("Held: ")
    expect(page.locator("#finding-count")).to_contain_text("finding")
    with console.serve.sending_samples():
        expect(item).to_have_count(0)


@pytest.mark.parametrize("console", [PHONE], indirect=True)
def test_a_phone_shows_everything_without_scrolling_sideways(console: Console) -> None:
    console.open()
    expect(console.page.locator("#time-chart")).to_be_visible()
    console.until_it_fits()
    edges = "[...document.querySelectorAll('td')].map((td) => td.getBoundingClientRect().right)"
    assert max(console.page.evaluate(edges)) <= 390


def test_the_page_speaks_chinese(console: Console) -> None:
    console.open()
    console.page.get_by_role("button", name="中文").click()
    expect(console.page.locator("#weights-title")).to_have_text("实时权重")
    expect(console.page.locator("#connection")).to_have_text("实时")
    assert console.page.evaluate("document.documentElement.lang") == "zh"


def test_the_keyboard_reaches_every_control(console: Console) -> None:
    console.open()
    reached = []
    for _ in range(8):
        console.page.keyboard.press("Shift+Tab" if len(reached) < 3 else "Tab")
        reached.append(console.page.evaluate("document.activeElement.id"))
    assert {"language", "forget", "service"} <= set(reached)
    console.page.locator("#service").focus()
    console.page.keyboard.press("Tab")
    console.page.keyboard.press("Shift+Tab")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert console.page.evaluate(outline) == "solid"


def test_the_page_comes_back_by_itself_after_a_restart(console: Console) -> None:
    console.open()
    console.serve.stop()
    expect(console.page.locator("#connection")).to_have_text("connection lost")
    expect(console.page.locator("#lost")).to_contain_text("last configuration")
    console.serve.start()
    expect(console.page.locator("#connection")).to_have_text("live")
    expect(console.page.locator("#lost")).to_be_hidden()
    expect(console.page.locator(console.share("search", "east"))).to_be_visible()

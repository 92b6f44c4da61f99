import re
from pathlib import Path

import httpx
import pytest

from controlplane.api.app import create_app
from controlplane.console import pages as module
from controlplane.console.pages import REPORTS, STATIC, pages
from tests.api.house import House

SCRIPTS = sorted([*STATIC.glob("*.js"), *REPORTS.glob("*.js")])


@pytest.fixture
async def browser(house: House):  # type: ignore[no-untyped-def]
    app = create_app(house.app.state.services, pages())
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        yield client


async def test_the_root_leads_to_the_page(browser: httpx.AsyncClient) -> None:
    for path in ("/", "/console"):
        response = await browser.get(path)
        assert (response.status_code, response.headers["location"]) == (307, "/console/")


async def test_every_file_of_the_page_is_served(browser: httpx.AsyncClient) -> None:
    page = await browser.get("/console/")
    assert page.headers["content-type"].startswith("text/html")
    for name in re.findall(r'(?:src|href)="([a-z.-]+\.(?:js|css))"', page.text):
        response = await browser.get(f"/console/{name}")
        assert response.status_code == 200, name
        kind = "css" if name.endswith("css") else "javascript"
        assert kind in response.headers["content-type"]
    assert {path.name for path in STATIC.iterdir()} == set(module.FILES.values())


async def test_plotly_comes_from_its_wheel_and_is_not_sent_twice(
    browser: httpx.AsyncClient,
) -> None:
    response = await browser.get("/console/plotly.min.js")
    assert b"plotly.js" in response.content[:200]
    assert response.headers["etag"]


async def test_the_content_policy_is_strict(browser: httpx.AsyncClient) -> None:
    policy = (await browser.get("/console/")).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "style-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy


def test_the_page_has_no_inline_script_style_or_handler() -> None:
    page = (STATIC / "index.html").read_text()
    assert all(" src=" in tag for tag in re.findall(r"<script[^>]*>", page))
    assert "<style" not in page
    assert not re.search(r"\s(style|on[a-z]+)=", page)
    assert "http://" not in page
    assert "https://" not in page


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_speak_v1_only_and_build_no_html_from_text(path: Path) -> None:
    source = path.read_text()
    addresses = re.findall(r"""["`](/[a-z][^"`]{2,})["`]""", source)
    assert all(address.startswith("/v1/") for address in addresses)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", source)
    assert "localStorage" not in source


def test_the_elements_that_the_script_names_are_on_the_page() -> None:
    page = (STATIC / "index.html").read_text()
    named = set(re.findall(r'\$\("([a-z-]+)"\)', (STATIC / "console.js").read_text()))
    assert named <= set(re.findall(r'id="([a-z-]+)"', page))


def test_every_control_has_a_label() -> None:
    page = (STATIC / "index.html").read_text()
    labels = set(re.findall(r'<label for="([a-z-]+)"', page))
    assert set(re.findall(r'<(?:input|select)[^>]*?id="([a-z-]+)"', page)) <= labels

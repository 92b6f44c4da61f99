"""The page of examples/flash_sale in a real browser, through nginx, at a real sale."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

from playwright.async_api import Page, async_playwright, expect

from benchmarks.flash_sale_site import SaleSite, sale_site
from benchmarks.free_ports import free_ports
from tests.browser.conftest import FLAGS

EXAMPLE = Path(__file__).parents[2] / "examples" / "flash_sale"
WAIT_MS = 20_000


@contextlib.asynccontextmanager
async def _nginx(site: SaleSite, folder: Path) -> AsyncIterator[str]:
    """The example's own configuration, with the ports of this site."""
    (port,) = free_ports(1)
    text = (EXAMPLE / "nginx.conf").read_text()
    for written, real in (
        ("127.0.0.1:18005", f"127.0.0.1:{site.nodes[0].port}"),
        ("127.0.0.1:18015", f"127.0.0.1:{site.nodes[1].port}"),
        ("127.0.0.1:8000", f"127.0.0.1:{port}"),
        ("127.0.0.1:8090", f"127.0.0.1:{site.shop_port}"),
    ):
        assert written in text
        text = text.replace(written, real)
    (folder / "nginx.conf").write_text(text)
    binary = shutil.which("nginx") or "/usr/sbin/nginx"
    process = await asyncio.create_subprocess_exec(
        *(binary, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "daemon off;")
    )
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.wait()


@contextlib.asynccontextmanager
async def _buyer(url: str) -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=FLAGS
        )
        page = await browser.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        async with asyncio.timeout(20):
            while True:
                with contextlib.suppress(Exception):
                    await page.goto(url)
                    break
                await asyncio.sleep(0.1)
        yield page
        await browser.close()
        assert problems == []


async def test_the_countdown_ends_in_a_form_a_sum_and_an_order(tmp_path: Path) -> None:
    async with (
        sale_site(tmp_path, 2, {"phone-9": 1}) as site,
        _nginx(site, tmp_path) as url,
    ):
        await site.declare("phones", "phone-9", 1, in_s=9.0, challenge="quiz")
        async with _buyer(url) as page:
            await expect(page.get_by_role("timer")).to_contain_text("Opens in")
            buy = page.get_by_role("button", name="Buy")
            await expect(buy).to_be_disabled()
            await expect(page.get_by_role("timer")).to_contain_text("Open now", timeout=WAIT_MS)
            await expect(buy).to_be_enabled()
            await buy.click()
            await expect(page.locator("#asked")).to_be_visible(timeout=WAIT_MS)
            asked = await page.locator("#asked span").text_content()
            assert asked is not None
            first, second = asked.removesuffix(" = ").split(" + ")
            await page.get_by_role("textbox").fill(str(int(first) + int(second)))
            await buy.click()
            await expect(page.get_by_role("status")).to_contain_text("It is yours.")
            # The only one is sold: nobody has an address any more.
            await expect(page.get_by_role("timer")).to_contain_text("Sold out", timeout=WAIT_MS)
            await expect(buy).to_be_disabled()
        assert len(site.orders("phone-9")) == 1

"""Openings: from the control plane in their moment, from disk afterwards."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import structlog

from controlplane.domain.admission.flash_sale.life import Opening
from controlplane.domain.admission.flash_sale.policy import FlashSalePolicy
from gateway.admission.flash_sale import opening
from gateway.admission.flash_sale.opening import OpeningKeeper
from gateway.admission.opening_options import OpeningOptions
from gateway.direct_http import Call, DirectServer, wire
from gateway.last_good.polling import Source


@dataclass(slots=True)
class ControlPlane:
    """Answers as `/v1/sales/NAME/opening` does; its clock is `ahead_s` of ours."""

    policy: FlashSalePolicy
    ahead_s: float = 0.0
    status: int = 200
    asked: int = 0

    def answer(self, call: Call) -> bytes | Awaitable[bytes]:
        self.asked += 1
        assert call.target == b"/v1/sales/phones/opening"
        assert call.header(b"authorization") == b"Bearer sbx_x"
        left_s = self.policy.opens_at_s - time.time() - self.ahead_s
        if left_s > 0:
            body = {"code": "sale_not_open", "details": {"opens_in_s": left_s}}
            return wire(425, json.dumps(body).encode())
        if self.status != 200:
            return wire(self.status, b"{}")
        body = {
            "sale": "phones",
            "item": self.policy.item,
            "opens_at_s": self.policy.opens_at_s,
            "token": "the-token",
            "key": "the-key",
            "opened_at_s": 1.0,
        }
        return wire(200, json.dumps(body).encode())


def _policy(in_s: float) -> FlashSalePolicy:
    return FlashSalePolicy(
        item="phone",
        stock=2,
        opens_at_s=time.time() + in_s,
        ends_at_s=time.time() + 600,
        orders_url="http://shop.example/orders",
    )


@asynccontextmanager
async def _served(plane: ControlPlane, folder: Path) -> AsyncIterator[OpeningOptions]:
    server = DirectServer(plane.answer)
    port = await server.start("127.0.0.1", 0)
    yield _options(f"http://127.0.0.1:{port}", folder)
    await server.stop()


def _options(url: str, folder: Path) -> OpeningOptions:
    (folder / "token").write_text("sbx_x")
    source = Source(urls=(url,), path="", token_file=folder / "token")
    return OpeningOptions(source=source, folder=folder / "openings")


@pytest.mark.parametrize("ahead_s", [-0.3, 0.0, 0.3])
async def test_it_opens_by_the_clock_of_the_control_plane(tmp_path: Path, ahead_s: float) -> None:
    plane = ControlPlane(_policy(0.5), ahead_s=ahead_s)
    async with _served(plane, tmp_path) as options:
        opened: list[Opening] = []
        await OpeningKeeper("phones", plane.policy, options).bring(opened.append)
    assert [one.token for one in opened] == ["the-token"]
    assert plane.asked == 2
    assert -0.05 < time.time() - plane.policy.opens_at_s + ahead_s < 0.4


async def test_an_open_sale_goes_on_from_disk_and_the_file_is_its_owners(tmp_path: Path) -> None:
    plane = ControlPlane(_policy(-1.0))
    opened: list[Opening] = []
    async with _served(plane, tmp_path) as options:
        await OpeningKeeper("phones", plane.policy, options).bring(opened.append)
    gone = _options("http://127.0.0.1:9", tmp_path)
    await OpeningKeeper("phones", plane.policy, gone).bring(opened.append)
    assert opened[0] == opened[1]
    (file,) = (tmp_path / "openings").glob("*.secret")
    assert file.stat().st_mode & 0o777 == 0o600
    # It is the opening of this sale, and of no other one of the name.
    other = replace(plane.policy, opens_at_s=plane.policy.opens_at_s + 1)
    assert OpeningKeeper("phones", other, gone).load() is None
    file.write_bytes(b"damaged")
    assert OpeningKeeper("phones", plane.policy, gone).load() is None


async def _asked_again(plane: ControlPlane) -> None:
    """Wait until an answer has been given and taken since now."""
    asked = plane.asked
    async with asyncio.timeout(10):
        while plane.asked < asked + 2:
            await asyncio.sleep(0.01)


async def test_without_the_control_plane_an_opening_waits_and_says_so(tmp_path: Path) -> None:
    plane = ControlPlane(_policy(-1.0), status=503)
    opened: list[Opening] = []
    with structlog.testing.capture_logs() as logs:
        async with _served(plane, tmp_path) as options:
            bringing = asyncio.create_task(
                OpeningKeeper("phones", plane.policy, options).bring(opened.append)
            )
            await _asked_again(plane)
            assert opened == []
            plane.status = 403
            await _asked_again(plane)
            plane.status = 200
            await asyncio.wait_for(bringing, 5)
    assert len(opened) == 1
    # Once for each trouble, not once for each try.
    waits = [each["code"] for each in logs if each["event"] == "flash_sale.opening_waits"]
    assert waits == ["control_plane_away", "control_plane_refuses"]
    assert "the-token" not in str(logs)


async def test_what_is_over_or_another_sale_is_never_opened(tmp_path: Path) -> None:
    over = replace(_policy(-1.0), ends_at_s=time.time() - 0.5)
    opened: list[Opening] = []
    gone = OpeningKeeper("phones", over, _options("http://127.0.0.1:9", tmp_path))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(gone.bring(opened.append), 0.1)
    plane = ControlPlane(_policy(-1.0))
    async with _served(plane, tmp_path) as options:
        mine = replace(plane.policy, item="tablet")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(OpeningKeeper("phones", mine, options).bring(opened.append), 0.3)
    assert opened == []


async def test_a_clock_that_was_days_ahead_and_is_put_right_opens_the_sale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane = ControlPlane(_policy(-1.0))
    ahead_s = [86_400.0]
    shown = SimpleNamespace(time=lambda: time.time() + ahead_s[0])
    monkeypatch.setattr(opening, "time", shown)
    monkeypatch.setattr(opening, "OVER_S", 0.02)
    opened: list[Opening] = []
    async with _served(plane, tmp_path) as options:
        keeper = OpeningKeeper("phones", plane.policy, options)
        bringing = asyncio.create_task(keeper.bring(opened.append))
        await asyncio.sleep(0.1)
        assert (opened, plane.asked) == ([], 0)
        ahead_s[0] = 0.0
        await asyncio.wait_for(bringing, 5)
    assert len(opened) == 1

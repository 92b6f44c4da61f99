"""docs/data-science.md: its Python runs here as it stands, against a `signalbox serve`.

A block of Python and the block of text right after it are code and what it prints. Words are the
same, numbers within a quarter or 0.1: another processor rounds differently, and training follows.
The server's address and the token take the place of the page's.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import torch

from benchmarks.free_ports import free_ports

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "data-science.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<text>.*?)```\n)?", re.DOTALL)
ADDRESS, TOKEN = "http://127.0.0.1:8080", "sbx_the-token"
SECRET = re.compile(r"sbx_[A-Za-z0-9_-]{43}")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
START_S = 30
FLEET = ROOT / "data" / "fleets" / "two-centers.yaml"


@pytest.fixture(autouse=True)
def torch_as_before() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.use_deterministic_algorithms(mode=False)
    torch.set_num_threads(threads)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Address of a server that has the fleet of two centers, and a scientist's token."""
    http, ads = free_ports(2)
    own = {k: v for k, v in os.environ.items() if not k.startswith("SIGNALBOX_")}
    own |= {
        "SIGNALBOX_DATA_DIR": str(tmp_path / "data"),
        "SIGNALBOX_HTTP_PORT": str(http),
        "SIGNALBOX_ADS_PORT": str(ads),
    }
    log = tmp_path / "serve.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "controlplane", "serve"],
            env=own,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        url = f"http://127.0.0.1:{http}"
        wait_for(url, log)
        found = SECRET.search(log.read_text(encoding="utf-8"))
        assert found is not None
        admin = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {found.group()}"})
        with admin:
            headers = {"Content-Type": "application/yaml"}
            answer = admin.put("/v1/fleet", content=FLEET.read_bytes(), headers=headers)
            assert answer.is_success, answer.text
            wanted = {"name": "scientist", "role": "scientist"}
            yield url, admin.post("/v1/tokens", json=wanted).json()["secret"]
    finally:
        process.terminate()
        process.wait(timeout=20)


def wait_for(url: str, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{url}/healthz").is_success:
                return
        time.sleep(0.1)
    raise AssertionError(log.read_text(encoding="utf-8"))


def test_every_block_prints_what_the_page_says(
    served: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.replace(ADDRESS, served[0]).replace(TOKEN, served[1])
    names: dict[str, object] = {"__name__": "page"}
    blocks = list(BLOCK.finditer(page))
    assert len(blocks) > 8
    for block in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], "data-science.md", "exec"), names)
        wanted, got = block["text"] or "", printed.getvalue()
        assert alike(got, wanted), f"{block['code']}\nprints\n{got}\nnot\n{wanted}"
    api = names["api"]
    assert isinstance(api, httpx.Client)
    api.close()
    assert (tmp_path / "report.html").stat().st_size > 1_000_000


def alike(got: str, wanted: str) -> bool:
    """Whether the words are the same and the numbers about so."""
    words = [NUMBER.sub("#", text).split() for text in (got, wanted)]
    numbers = [[float(one) for one in NUMBER.findall(text)] for text in (got, wanted)]
    return words[0] == words[1] and numbers[0] == pytest.approx(numbers[1], rel=0.25, abs=0.1)


def test_numbers_may_move_and_words_may_not() -> None:
    assert alike("all  432 rows, 5.1 %", "all 432 rows, 6.0 %")
    assert not alike("all 432 rows, 5.1 %", "all 432 rows, 9.1 %")
    assert not alike("trusted: True", "trusted: False")

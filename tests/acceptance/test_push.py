"""How fast a change reaches traffic and every stream, as the benchmark measures it."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEADLINE_S = 90


async def test_weights_reach_traffic_and_streams_in_time(
    record_property: Callable[[str, object], None],
) -> None:
    """4. New weights serve within 10 ms (p50, 808 routes); 1,000 streams acknowledge within 1 s."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "benchmarks.push", "--quick", "--json"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await asyncio.wait_for(process.communicate(), DEADLINE_S)
    assert process.returncode == 0
    figures = json.loads(output.splitlines()[-1])["figures"]
    for name in ("envoy_first_request_ms_p50", "acks_1000_streams_ms"):
        record_property(name, figures[name])
    assert figures["envoy_first_request_ms_p50"] < 10
    assert figures["acks_1000_streams_ms"] < 1_000

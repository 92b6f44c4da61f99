"""Overload protection with real agents and a real Redis: benchmarks.overload with a small crowd."""

from collections.abc import Callable
from pathlib import Path

import uvloop

from benchmarks.overload import LIMITS_S, Look, Plan, killed_holder, look, upstream_down
from benchmarks.overload_parts import BARE, PROTECTED, Site, policy, site
from benchmarks.overload_upstream import capacity_rps

SHOWS, AT_ONCE = 20, 0.4
LIFETIME_S, TOKEN_S = 2.0, 2.0
# An upstream of 20 requests per second, and 40 people who ask ten times a second each.
PLAN = Plan(users=(40,), warm_s=1.5, seconds_s=2.0, shows=SHOWS, looks_s=(0.05, 0.15))


def test_overload(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """S0, `python -m benchmarks.overload`: 100 showings, up to 2,000 users, two agents with one
    Redis, an upstream of fixed capacity whose service time grows with its load by a law stated in
    the docs: upstream fetches in flight never above 100 (`max_inflight_per_key` = 1), upstream load
    flat while users grow, throughput within 0.1 s, 1 s and 2.5 s limits with and without protection
    (`throughput_gain_100ms`, `_1s`, `_2500ms` all > 1.5); token holder killed: another fetches
    after the token timeout; upstream down: stale or a clear error by policy."""
    declared = policy(threshold=0, lifetime_s=LIFETIME_S, token_s=TOKEN_S, wait_s=10.0)
    with site(tmp_path, declared, AT_ONCE) as parts:
        figures = uvloop.run(_played(parts))
    for name, figure in figures.items():
        record_property(name, round(figure, 3))
    assert figures["max_inflight_per_key"] == 1
    assert figures["max_inflight"] <= SHOWS
    # A fetch of each show in its lifetime, and the first ones.
    assert figures["upstream_rps"] <= SHOWS / LIFETIME_S + SHOWS / PLAN.seconds_s
    assert figures["upstream_rps"] < capacity_rps(AT_ONCE)
    for name in LIMITS_S:
        assert figures[f"throughput_gain_{name}"] > 1.5, figures
    assert figures["takeover_answered"] == 1
    assert figures["takeover_s"] > 0.5
    assert figures["down_stale_share"] == figures["down_clear_error_share"] == 1


async def _played(parts: Site) -> dict[str, float]:
    bare = await look(parts, PLAN, PLAN.users[0], BARE)
    protected = await look(parts, PLAN, PLAN.users[0], PROTECTED)
    faults = await killed_holder(parts) | await upstream_down(parts, SHOWS)
    return _figures(bare, protected) | faults


def _figures(bare: Look, protected: Look) -> dict[str, float]:
    upstream = protected.upstream
    gains = {
        f"throughput_gain_{name}": protected.seen.good_rps(limit_s)
        / max(bare.seen.good_rps(limit_s), 1 / PLAN.seconds_s)
        for name, limit_s in LIMITS_S.items()
    }
    return {
        "max_inflight_per_key": upstream["most_of_key"],
        "max_inflight": upstream["most"],
        "upstream_rps": upstream["answered"] / PLAN.seconds_s,
        **gains,
    }

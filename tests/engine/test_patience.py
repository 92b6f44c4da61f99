"""A start waits for a store that is busy, and for nothing else."""

import pytest

from controlplane.domain.errors import Retryable
from controlplane.engine import patience
from controlplane.engine.patience import patiently


class Step:
    def __init__(self, *reasons: str) -> None:
        self.reasons = list(reasons)

    async def __call__(self) -> str:
        if self.reasons:
            reason = self.reasons.pop(0)
            raise Retryable("store_unavailable", reason, {"reason": reason})
        return "done"


async def test_a_busy_store_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PAUSE_S", 0.0)
    assert await patiently(Step("locked", "deadline", "locked")) == "done"


async def test_another_outage_ends_the_start() -> None:
    with pytest.raises(Retryable, match="full"):
        await patiently(Step("full"))


async def test_it_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "LONGEST_S", 0.0)
    with pytest.raises(Retryable, match="locked"):
        await patiently(Step("locked"))

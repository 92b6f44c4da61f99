"""Training that takes a second: a day of logs."""

import pytest

from training.backtest import preparation


@pytest.fixture
def short_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A day instead of a month."""
    monkeypatch.setattr(preparation, "LOG_DAYS", 1)

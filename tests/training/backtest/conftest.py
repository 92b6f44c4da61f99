"""Training that takes a second: a day of logs."""

from collections.abc import Iterator

import pytest
import torch

from training.backtest import preparation


@pytest.fixture
def short_logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A day instead of a month; torch is left as it was."""
    monkeypatch.setattr(preparation, "LOG_DAYS", 1)
    threads = torch.get_num_threads()
    yield
    torch.use_deterministic_algorithms(mode=False)
    torch.set_num_threads(threads)

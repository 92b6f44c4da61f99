"""What every test of training leaves behind it: torch as it was."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def torch_as_before() -> Iterator[None]:
    """Undo what training sets for the whole process."""
    threads = torch.get_num_threads()
    yield
    torch.use_deterministic_algorithms(mode=False)
    torch.set_num_threads(threads)

import pytest

from controlplane.domain.errors import (
    Conflict,
    ControlPlaneError,
    Invalid,
    NotFound,
    Refused,
    Rejected,
    Retryable,
)


@pytest.mark.parametrize("kind", [Invalid, NotFound, Conflict, Refused, Retryable, Rejected])
def test_every_kind_carries_code_message_and_details(kind: type[ControlPlaneError]) -> None:
    error = kind("some_code", "What went wrong.", {"limit": 3})
    assert isinstance(error, ControlPlaneError)
    assert (error.code, error.message, error.details) == (
        "some_code",
        "What went wrong.",
        {"limit": 3},
    )
    assert str(error) == "What went wrong."
    assert kind("c", "m").details == {}


def test_a_retry_says_when() -> None:
    assert Retryable("away", "The store is away.", after_s=2.5).after_s == 2.5
    assert Retryable("away", "The store is away.").after_s == 1.0

import json
from dataclasses import replace

import pytest

from controlplane.domain.admission.session_queue.policy import (
    LIMITS,
    LONGEST_KEYS,
    LONGEST_TITLE,
    MOST_PATHS,
    SessionQueuePolicy,
    check_session_queue,
)
from controlplane.domain.errors import Invalid


def keys(**changes: str) -> str:
    key = {"kty": "EC", "crv": "P-256", "x": "A" * 43, "y": "A" * 43, **changes}
    return json.dumps({"keys": [key]})


def test_the_usual_policy_can_be_carried_out() -> None:
    check_session_queue(SessionQueuePolicy())
    check_session_queue(SessionQueuePolicy(finish_paths=("/logout", "/"), hold_s=5.0))
    check_session_queue(SessionQueuePolicy(keys=keys()))


@pytest.mark.parametrize(("name", "low", "high"), LIMITS)
def test_each_number_has_its_limits(name: str, low: float, high: float) -> None:
    for value in (low - 1, high + 1, float("nan")):
        with pytest.raises(Invalid, match=name):
            check_session_queue(replace(SessionQueuePolicy(), **{name: value}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"initial_size": 5, "least_size": 6}, "initial_size is 5: give 6"),
        ({"initial_size": 9, "most_size": 8}, "initial_size is 9: give 1..8"),
        ({"poll_s": 20.0}, "two questions may get lost"),
        ({"abandon_s": 44.0}, "two questions may get lost"),
        ({"hold_s": 59.0, "abandon_s": 50.0}, "hold_s is 59"),
        ({"finish_paths": ("/x",) * (MOST_PATHS + 1)}, "finish_paths has 101 items"),
        ({"finish_paths": ("logout",)}, "finish_paths has 'logout'"),
        ({"finish_paths": ("/" + "x" * 1_024,)}, "at most 1024 characters"),
        ({"revoked": tuple(map(str, range(1_001)))}, "revoked has 1001 items"),
        ({"title": "x" * (LONGEST_TITLE + 1)}, "title has 201"),
        ({"keys": "x" * (LONGEST_KEYS + 1)}, "keys has 65537"),
        ({"keys": "{}"}, "keys: .*needs `keys`"),
        ({"keys": keys(d="A" * 43)}, "holds a secret"),
        ({"keys": keys(kty="OKP", crv="Ed25519")}, "one for EdDSA"),
    ],
)
def test_what_cannot_be_carried_out_is_said(changes: dict[str, object], words: str) -> None:
    with pytest.raises(Invalid, match=words) as caught:
        check_session_queue(replace(SessionQueuePolicy(), **changes))  # type: ignore[arg-type]
    assert caught.value.code == "policy_invalid"

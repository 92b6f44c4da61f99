"""SIGNALBOX_SOURCE_CREDENTIALS: where a token is kept, and never the token itself."""

import json
from pathlib import Path

import pytest

from controlplane.domain.errors import Invalid
from controlplane.settings import load

ORIGIN = "https://prometheus.internal:9090"


def given(monkeypatch: pytest.MonkeyPatch, value: object) -> None:
    monkeypatch.setenv("SIGNALBOX_SOURCE_CREDENTIALS", json.dumps(value))


def test_a_credential_names_a_variable_or_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    given(
        monkeypatch,
        {
            "reader": {"origin": ORIGIN, "token_file": "/run/secrets/reader"},
            "cloud": {"origin": ORIGIN, "token_env": "CLOUD_TOKEN"},
        },
    )
    read = load().source_credentials
    assert read["reader"].token_file == Path("/run/secrets/reader")
    assert read["cloud"].token_env == "CLOUD_TOKEN"


@pytest.mark.parametrize(
    "credential",
    [
        {"origin": ORIGIN},
        {"origin": ORIGIN, "token_env": "A", "token_file": "/b"},
        {"token_env": "A"},
        {"origin": f"{ORIGIN}/path", "token_env": "A"},
        {"origin": "prometheus:9090", "token_env": "A"},
        {"origin": "https://user@prometheus", "token_env": "A"},
        {"origin": ORIGIN, "token": "sbx"},
        "reader",
    ],
)
def test_a_credential_of_another_shape_is_refused_at_start(
    monkeypatch: pytest.MonkeyPatch, credential: object
) -> None:
    given(monkeypatch, {"reader": credential})
    with pytest.raises(Invalid, match="SOURCE_CREDENTIALS") as caught:
        load()
    assert caught.value.code == "setting_invalid"

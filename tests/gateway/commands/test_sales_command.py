"""The options of a node that serves sales."""

from pathlib import Path

import pytest

from controlplane.domain.errors import Invalid, Refused
from gateway.commands.sales import sales_options

NEEDED = ["--api", "http://127.0.0.1:8080/", "--token-file", "t", "--group", "e", "--folder", "f"]


def test_what_is_needed_is_enough() -> None:
    options = sales_options(NEEDED)
    assert options.policies.urls == ("http://127.0.0.1:8080",)
    assert options.policies.parameters == {"gateway": "e"}
    assert (options.listen, options.status) == (("127.0.0.1", 18005), ("127.0.0.1", 18006))
    assert options.redis is None


def test_redis_may_have_a_password(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("secret\n")
    redis = ["--redis", "redis://r:6379/0", "--redis-password-file", str(tmp_path / "password")]
    options = sales_options([*NEEDED, *redis])
    assert options.redis is not None
    assert (options.redis.url, options.redis.password) == ("redis://r:6379/0", "secret")


def test_what_cannot_be_carried_out_is_said() -> None:
    with pytest.raises(Invalid, match="give redis://HOST:PORT/0"):
        sales_options([*NEEDED, "--redis", "localhost"])
    with pytest.raises(Refused):
        sales_options([*NEEDED, "--listen", "0.0.0.0:80"])
    assert sales_options([*NEEDED, "--listen", "0.0.0.0:80", "--force-listen"])

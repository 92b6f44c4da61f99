"""Which language a reader gets."""

import pytest

from gateway.admission.languages import reads_chinese


@pytest.mark.parametrize(
    ("header", "chinese"),
    [
        ("", False),
        ("fr", False),
        ("zh", True),
        ("ZH-cn,zh;q=0.9", True),
        ("fr, zh;q=0.5", True),
        ("en;q=0.5, zh-TW", True),
        ("zh;q=0.1, en", False),
        ("en, zh", False),
        ("zh, en", True),
        ("zh;q=nonsense", False),
        ("zh;level=1", True),
        ("zh;q=0", False),
        ("zh;q=nan", False),
    ],
)
def test_the_language_that_is_liked_most_is_taken(header: str, chinese: bool) -> None:
    assert reads_chinese(header) is chinese

"""Progress as JSON lines: the first and the last of each name, and few between them."""

import io
import json

from training import display


def test_lines_between_the_first_and_the_last_are_few() -> None:
    stream = io.StringIO()
    with display.shown("some.event", (), stream) as show:
        for name in ("a", "b"):
            for done in range(1, 301):
                show(name, done, 300, {"stage": name, "done": done})
    told = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert {"event": "some.event", "stage": "b", "done": 1} in told
    assert [one["done"] for one in told if one["done"] in (1, 300)] == [1, 300, 1, 300]
    assert len(told) < 50


def test_words_of_others_do_not_steer_a_terminal() -> None:
    assert display.plain("a\nb é 数") == "a\nb é 数"
    assert display.plain("\x1b[31mred\r\u202e\udcff\t") == "\\x1b[31mred\\r\\u202e\\udcff\\t"

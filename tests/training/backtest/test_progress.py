"""Progress: bars for people, lines for programs."""

import io
import json

from training.backtest import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_elsewhere_each_unit_is_a_line_of_json() -> None:
    stream = io.StringIO()
    with progress.shown(stream) as tell:
        tell("train", 1, 2)
        tell("play", 3, 4)
    assert [json.loads(line) for line in stream.getvalue().splitlines()] == [
        {"event": "backtest.progress", "stage": "train", "done": 1, "total": 2},
        {"event": "backtest.progress", "stage": "play", "done": 3, "total": 4},
    ]


def test_a_terminal_has_a_bar_for_each_stage() -> None:
    stream = Terminal()
    with progress.shown(stream) as tell:
        tell("train", 1, 2)
        tell("train", 2, 2)
        tell("play", 3, 4)
    assert "train" in stream.getvalue()
    assert "2/2" in stream.getvalue()
    assert "3/4" in stream.getvalue()

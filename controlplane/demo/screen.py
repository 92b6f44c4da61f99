"""The demo's terminal: a live table where there is a terminal, plain lines elsewhere."""

import time
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from controlplane.demo.fleet import PRIMARY, SECONDARY, lane_names
from controlplane.demo.measuring import Measurements
from controlplane.demo.traffic import LaneFigures

LINE_EVERY_S = 10.0


@dataclass(slots=True)
class Board:
    """What the screen shows now; the play writes it."""

    step: str = "starting"
    started_s: float = field(default_factory=time.time)
    shares: dict[str, float] = field(default_factory=dict)
    lanes: dict[str, LaneFigures] = field(default_factory=dict)
    measurements: Measurements = field(default_factory=Measurements)
    console_url: str = ""


class Screen:
    """Draws the board; a context manager."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._console = Console(stderr=True, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=False)
        self._line_s = 0.0

    def __enter__(self) -> "Screen":
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def tell(self, text: str) -> None:
        """A line that stays, and the step shown above the table."""
        self.board.step = text
        elapsed_s = time.time() - self.board.started_s
        self._console.print(Text(f"{elapsed_s:6.1f} s  {text}"), soft_wrap=True)

    def show(self, table: Table) -> None:
        """A table that stays."""
        self._console.print(table)

    def refresh(self) -> None:
        """Draw the board as it is now."""
        if self._console.is_terminal:
            self._live.update(_picture(self.board), refresh=True)
        elif time.time() - self._line_s >= LINE_EVERY_S and self.board.lanes:
            self._line_s = time.time()
            self._console.print(Text(_line(self.board)), soft_wrap=True)


def _picture(board: Board) -> Group:
    title = Text(f"{board.step}    console: {board.console_url}", style="bold")
    table = Table("lane", "to primary", "busy primary", "busy secondary", "mean ms", "p99 ms")
    for column in table.columns[1:]:
        column.justify = "right"
    for name in lane_names():
        table.add_row(name, *_cells(board, name))
    return Group(title, table)


def _cells(board: Board, lane: str) -> list[str]:
    figures = board.lanes.get(lane, LaneFigures())
    busy = [board.measurements.newest((lane, center)) for center in (PRIMARY, SECONDARY)]
    share = board.shares.get(lane)
    return [
        "" if share is None else f"{share:.2f}",
        *("" if value is None else f"{value:.0%}" for value in busy),
        *("" if v is None else f"{v:.0f}" for v in (figures.mean_ms, figures.p99_ms)),
    ]


def _line(board: Board) -> str:
    parts = []
    for name in lane_names():
        share, _, _, mean, _ = _cells(board, name)
        parts.append(f"{name} {share} {mean} ms")
    return f"{time.time() - board.started_s:6.1f} s  " + " | ".join(parts)

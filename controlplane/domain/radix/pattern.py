"""What a path is like: its segments, and whether it must end behind them."""

from typing import NamedTuple


class Pattern(NamedTuple):
    """Segments of a path, None standing for any one that is not empty.

    Attributes:
        segments: what stands behind each slash; the last one of `/a/` is "". At least one if whole.
        whole: the path must end there; otherwise it may go on with further segments.
    """

    segments: tuple[str | None, ...]
    whole: bool

    @property
    def literal(self) -> str | None:
        """The only path that it matches; None when there are several."""
        if not self.whole or None in self.segments:
            return None
        return "/" + "/".join(map(str, self.segments))


def of_literal(path: str) -> Pattern:
    """The pattern that matches one path only."""
    return Pattern(tuple(path[1:].split("/")), whole=True)
